import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Writes with Kafka's producer. Transactions are kept by their id, so that a test can interleave or abandon them. */
final class WriteLog {
    private static final Map<String, KafkaProducer<byte[], byte[]>> TRANSACTIONS = new ConcurrentHashMap<>();
    private static final Map<Integer, CountDownLatch> RUNNING = new ConcurrentHashMap<>();

    private static KafkaProducer<byte[], byte[]> producer(JsonNode request) {
        Properties properties = Worker.clientProperties(request);
        properties.putIfAbsent("acks", "all");
        // Told well before the test that waits for it gives up.
        properties.putIfAbsent("delivery.timeout.ms", "60000");
        properties.putIfAbsent("request.timeout.ms", "20000");
        if (request.has("codec")) properties.put("compression.type", request.get("codec").asText());
        if (request.has("transactionalId")) properties.put("transactional.id", request.get("transactionalId").asText());
        return new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private interface Writing {
        Object with(KafkaProducer<byte[], byte[]> producer) throws Exception;
    }

    /** With the producer of the request's open transaction, or one of its own that is closed afterwards. */
    private static Object writing(JsonNode request, Writing writing) throws Exception {
        if (request.has("transactionalId")) {
            KafkaProducer<byte[], byte[]> open = TRANSACTIONS.get(request.get("transactionalId").asText());
            if (open == null) throw new IllegalStateException("No transaction was begun with this id");
            return writing.with(open);
        }
        try (KafkaProducer<byte[], byte[]> producer = producer(request)) {
            return writing.with(producer);
        }
    }

    /** Offsets that the broker acknowledged, by partition. */
    private static final class Acknowledged {
        private final Map<Integer, long[]> bounds = new TreeMap<>();
        private final AtomicLong count = new AtomicLong();
        private volatile Exception error;

        synchronized void add(RecordMetadata metadata, Exception failure) {
            if (failure != null) {
                error = failure;
                return;
            }
            count.incrementAndGet();
            long[] bound = bounds.computeIfAbsent(metadata.partition(), partition -> new long[] {metadata.offset(), metadata.offset()});
            bound[0] = Math.min(bound[0], metadata.offset());
            bound[1] = Math.max(bound[1], metadata.offset());
        }

        synchronized Object result() throws Exception {
            if (error != null) throw error;
            List<Map<String, Object>> partitions = new ArrayList<>();
            bounds.forEach((partition, bound) -> partitions.add(
                    Map.of("partition", partition, "firstOffset", String.valueOf(bound[0]), "lastOffset", String.valueOf(bound[1]))));
            return Map.of("count", count.get(), "partitions", partitions);
        }
    }

    /** Request: topic, records, partitions or partition, content settings as in {@link Content}, codec, timestamp, timestampStep. */
    static Object write(JsonNode request, Worker.Answer answer) throws Exception {
        String topic = request.get("topic").asText();
        int partitions = request.path("partitions").asInt(1);
        int first = request.path("partition").asInt(0);
        long timestamp = request.path("timestamp").asLong(-1);
        long step = request.path("timestampStep").asLong(1);
        Content content = new Content(request);
        return writing(request, producer -> {
            Acknowledged acknowledged = new Acknowledged();
            long records = request.path("records").asLong(1);
            for (long i = 0; i < records; i++) {
                Long at = timestamp < 0 ? null : Long.valueOf(timestamp + i * step);
                producer.send(content.record(topic, first + (int) (i % partitions), at, i), acknowledged::add);
            }
            producer.flush();
            return acknowledged.result();
        });
    }

    /** Request: topic, list of {partition, timestamp, key, value, headers: [[key, value]]} with bytes in hex or null. */
    static Object writeRecords(JsonNode request, Worker.Answer answer) throws Exception {
        return writing(request, producer -> {
            Acknowledged acknowledged = new Acknowledged();
            for (JsonNode item : request.get("list")) {
                Long at = item.hasNonNull("timestamp") ? item.get("timestamp").asLong() : null;
                ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(
                        request.get("topic").asText(), item.path("partition").asInt(0), at, bytes(item.get("key")), bytes(item.get("value")));
                for (JsonNode header : item.path("headers")) record.headers().add(header.get(0).asText(), bytes(header.get(1)));
                producer.send(record, acknowledged::add);
            }
            producer.flush();
            return acknowledged.result();
        });
    }

    private static byte[] bytes(JsonNode hex) {
        return hex == null || hex.isNull() ? null : HexFormat.of().parseHex(hex.asText());
    }

    /** Begins a transaction; the producer is initialised (which fences an older one) when the id is new here. */
    static Object begin(JsonNode request, Worker.Answer answer) {
        TRANSACTIONS.computeIfAbsent(request.get("transactionalId").asText(), id -> {
            KafkaProducer<byte[], byte[]> producer = producer(request);
            producer.initTransactions();
            return producer;
        }).beginTransaction();
        return Map.of();
    }

    /** Request: transactionalId, outcome: commit, abort, or abandon (the producer is dropped with its transaction open). */
    static Object end(JsonNode request, Worker.Answer answer) {
        String id = request.get("transactionalId").asText();
        KafkaProducer<byte[], byte[]> producer = TRANSACTIONS.get(id);
        if (producer == null) throw new IllegalStateException("No transaction was begun with this id");
        switch (request.get("outcome").asText()) {
            case "commit" -> producer.commitTransaction();
            case "abort" -> producer.abortTransaction();
            case "abandon" -> TRANSACTIONS.remove(id).close(java.time.Duration.ZERO);
            default -> throw new IllegalArgumentException("outcome is commit, abort or abandon");
        }
        return Map.of();
    }

    /** Request as for write, and: transactions (how many), records (in each), abortEvery (0: none is aborted). */
    static Object transactions(JsonNode request, Worker.Answer answer) throws Exception {
        String topic = request.get("topic").asText();
        int partitions = request.path("partitions").asInt(1);
        int first = request.path("partition").asInt(0);
        int abortEvery = request.path("abortEvery").asInt(0);
        Content content = new Content(request);
        Acknowledged acknowledged = new Acknowledged();
        try (KafkaProducer<byte[], byte[]> producer = producer(request)) {
            producer.initTransactions();
            long counter = 0;
            for (int i = 1; i <= request.path("transactions").asInt(1); i++) {
                producer.beginTransaction();
                for (int j = 0; j < request.path("records").asInt(1); j++, counter++) {
                    producer.send(content.record(topic, first + (int) (counter % partitions), null, counter), acknowledged::add);
                }
                if (abortEvery > 0 && i % abortEvery == 0) {
                    producer.flush();
                    producer.abortTransaction();
                } else {
                    producer.commitTransaction();
                }
            }
        }
        return acknowledged.result();
    }

    /**
     * Writes at a steady rate until the request {@code stop} with this request's id as {@code of}. Each acknowledged
     * record is an event line: partition, offset, counter (with {@code events}). Values start with the counter and the time in ns
     * since the epoch, eight bytes each. Errors of single records are counted: a broker may be restarted meanwhile.
     */
    static Object rate(JsonNode request, Worker.Answer answer) throws Exception {
        String topic = request.get("topic").asText();
        int partitions = request.path("partitions").asInt(1);
        double perSecond = request.path("recordsPerSecond").asDouble(100);
        boolean events = request.path("events").asBoolean(false);
        Content content = new Content(request);
        CountDownLatch stop = new CountDownLatch(1);
        RUNNING.put(request.get("id").asInt(), stop);
        AtomicLong acknowledged = new AtomicLong();
        AtomicLong failed = new AtomicLong();
        ConcurrentLinkedQueue<String> lines = new ConcurrentLinkedQueue<>();
        long sent = 0;
        try (KafkaProducer<byte[], byte[]> producer = producer(request)) {
            producer.partitionsFor(topic);
            answer.event("started");
            long start = System.nanoTime();
            while (stop.getCount() > 0) {
                long due = start + (long) (sent * 1e9 / perSecond);
                if (System.nanoTime() < due) {
                    LockSupport.parkNanos(Math.min(due - System.nanoTime(), 20_000_000));
                } else {
                    long counter = sent++;
                    producer.send(content.stamped(topic, (int) (counter % partitions), counter), (metadata, error) -> {
                        if (error != null) failed.incrementAndGet();
                        else {
                            acknowledged.incrementAndGet();
                            if (events) lines.add(metadata.partition() + "\t" + metadata.offset() + "\t" + counter);
                        }
                    });
                }
                for (String line = lines.poll(); line != null; line = lines.poll()) answer.event(line);
            }
            producer.flush();
        } finally {
            RUNNING.remove(request.get("id").asInt());
        }
        for (String line = lines.poll(); line != null; line = lines.poll()) answer.record(line);
        return Map.of("sent", sent, "acknowledged", acknowledged.get(), "failed", failed.get());
    }

    static Object stop(JsonNode request, Worker.Answer answer) {
        CountDownLatch latch = RUNNING.get(request.get("of").asInt());
        if (latch != null) latch.countDown();
        return Map.of();
    }

    private WriteLog() {}
}
