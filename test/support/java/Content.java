import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.SplittableRandom;
import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * What records hold, the same for the same seed. Style "varied" (default) mixes null, empty and ordinary keys, values and
 * headers; "keyed" is the same with few keys (setting keys), none of them null, for logs that are compacted; "plain" has random values
 * and no keys; "json" has values of JSON text that compress as such things do. Setting headers: false leaves them out.
 */
final class Content {
    private final String style;
    private final int valueBytes;
    private final int keys;
    private final boolean headers;
    private final long seed;
    private final byte[][] pool;

    Content(JsonNode request) {
        style = request.path("style").asText("varied");
        valueBytes = request.path("valueBytes").asInt(100);
        keys = request.path("keys").asInt(50);
        headers = request.path("headers").asBoolean(true);
        seed = request.path("seed").asLong(1);
        pool = style.equals("json") ? null : new byte[64][valueBytes];
        if (pool != null) for (int i = 0; i < pool.length; i++) new SplittableRandom(seed + i).nextBytes(pool[i]);
    }

    ProducerRecord<byte[], byte[]> record(String topic, int partition, Long timestamp, long index) {
        if (style.equals("varied") || style.equals("keyed")) return varied(topic, partition, timestamp, index);
        return new ProducerRecord<>(topic, partition, timestamp, null, value(index));
    }

    /** Its value begins with the counter and the time now in nanoseconds since the epoch. */
    ProducerRecord<byte[], byte[]> stamped(String topic, int partition, long counter) {
        java.time.Instant now = java.time.Instant.now();
        byte[] value = new byte[Math.max(16, valueBytes)];
        ByteBuffer.wrap(value).putLong(counter).putLong(now.getEpochSecond() * 1_000_000_000L + now.getNano());
        return new ProducerRecord<>(topic, partition, null, ("key-" + counter % 1000).getBytes(StandardCharsets.UTF_8), value);
    }

    private ProducerRecord<byte[], byte[]> varied(String topic, int partition, Long timestamp, long index) {
        byte[] key = style.equals("keyed") ? often(index) : index % 7 == 0 ? null : index % 7 == 1 ? new byte[0] : ("key-" + seed + "-" + index % 5000).getBytes(StandardCharsets.UTF_8);
        byte[] value = index % 11 == 0 ? null : index % 11 == 1 ? new byte[0] : value(index);
        ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(topic, partition, timestamp, key, value);
        if (!headers) return record;
        if (index % 5 == 1) record.headers().add("trace", number(index));
        if (index % 5 == 2) record.headers().add("twice", number(index)).add("twice", null).add("twice", new byte[0]);
        if (index % 5 == 3) record.headers().add("z", null).add("ä€", new byte[] {0, (byte) 0xff}).add("", number(index));
        return record;
    }

    /** Some keys come often and some seldom, so that compaction leaves a record here and there. */
    private byte[] often(long index) {
        double random = new SplittableRandom(seed * 1_000_003 + index).nextDouble();
        return ("key-" + (int) (keys * random * random * random)).getBytes(StandardCharsets.UTF_8);
    }

    private byte[] value(long index) {
        if (pool == null) return json(index);
        byte[] value = pool[(int) (index % pool.length)].clone();
        if (value.length >= 8) ByteBuffer.wrap(value).putLong(index);
        return value;
    }

    private byte[] json(long index) {
        SplittableRandom random = new SplittableRandom(seed * 31 + index);
        StringBuilder text = new StringBuilder("{\"id\":").append(index).append(",\"customer\":\"c-").append(random.nextInt(100_000))
                .append("\",\"amount\":").append(random.nextInt(1_000_000) / 100.0).append(",\"status\":\"")
                .append(random.nextBoolean() ? "SHIPPED" : "PENDING").append("\",\"items\":[");
        for (int item = 0; text.length() < valueBytes - 40; item++) {
            text.append(item == 0 ? "" : ",").append("{\"sku\":\"").append(Long.toString(random.nextLong(1L << 40), 36))
                    .append("\",\"quantity\":").append(random.nextInt(20)).append('}');
        }
        return text.append("]}").toString().getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] number(long value) {
        return ByteBuffer.allocate(8).putLong(value).array();
    }
}
