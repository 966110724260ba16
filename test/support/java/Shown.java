import java.util.Optional;

/** What a controller has done is shown by brokers a moment later. */
final class Shown {
    private static final long WITHIN_NANOS = 60_000_000_000L;
    private static final long EVERY_MS = 20;

    interface Look<T> {
        Optional<T> look() throws Exception;
    }

    interface Condition {
        boolean holds() throws Exception;
    }

    static <T> T await(String what, Look<T> look) throws Exception {
        long deadline = System.nanoTime() + WITHIN_NANOS;
        for (;;) {
            Optional<T> seen = look.look();
            if (seen.isPresent()) return seen.get();
            if (System.nanoTime() > deadline) throw new IllegalStateException("No broker shows " + what);
            Thread.sleep(EVERY_MS);
        }
    }

    static void awaitThat(String what, Condition condition) throws Exception {
        await(what, () -> condition.holds() ? Optional.of(true) : Optional.empty());
    }

    private Shown() {}
}
