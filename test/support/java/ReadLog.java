import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Reads a topic's log with Kafka's consumer, from its start (or {@code from}) to the end it has when the reading begins. */
final class ReadLog {
    /**
     * Request: topic, isolation (read_uncommitted unless told), content (hex, hash or none: no record lines), partition
     * (default: all), from, timeoutMs. A record line is partition, offset, timestamp, timestamp type, key, value, headers.
     */
    static Object read(JsonNode request, Worker.Answer answer) throws Exception {
        Properties properties = Worker.clientProperties(request);
        properties.putIfAbsent("enable.auto.commit", "false");
        properties.putIfAbsent("auto.offset.reset", "none");
        properties.putIfAbsent("isolation.level", request.path("isolation").asText("read_uncommitted"));
        properties.putIfAbsent("max.poll.records", "10000");
        properties.putIfAbsent("max.partition.fetch.bytes", "4194304");
        String content = request.path("content").asText("hex");
        long deadline = System.nanoTime() + request.path("timeoutMs").asLong(60_000) * 1_000_000;
        Map<TopicPartition, Digest> digests = new LinkedHashMap<>();
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> partitions = partitionsOf(consumer, request);
            Map<TopicPartition, Long> begins = consumer.beginningOffsets(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            consumer.assign(partitions);
            for (TopicPartition partition : partitions) {
                long from = Math.max(begins.get(partition), request.path("from").asLong(0));
                digests.put(partition, new Digest(begins.get(partition), ends.get(partition)));
                consumer.seek(partition, from);
            }
            while (true) {
                boolean done = true;
                for (TopicPartition partition : partitions) {
                    boolean ended = consumer.position(partition) >= ends.get(partition);
                    if (ended) consumer.pause(List.of(partition));
                    done &= ended;
                }
                if (done) break;
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                    TopicPartition partition = new TopicPartition(record.topic(), record.partition());
                    if (record.offset() >= ends.get(partition)) continue;
                    digests.get(partition).add(record);
                    if (!content.equals("none")) answer.record(line(record, content.equals("hash")));
                }
                if (System.nanoTime() > deadline) throw new IllegalStateException("The end was not reached in time: " + positions(consumer, ends));
            }
        }
        List<Map<String, Object>> result = new ArrayList<>();
        for (Map.Entry<TopicPartition, Digest> entry : digests.entrySet()) result.add(entry.getValue().result(entry.getKey().partition()));
        return result;
    }

    private static List<TopicPartition> partitionsOf(KafkaConsumer<byte[], byte[]> consumer, JsonNode request) {
        List<TopicPartition> partitions = new ArrayList<>();
        consumer.partitionsFor(request.get("topic").asText()).stream()
                .filter(info -> !request.has("partition") || info.partition() == request.get("partition").asInt())
                .sorted((a, b) -> a.partition() - b.partition())
                .forEach(info -> partitions.add(new TopicPartition(info.topic(), info.partition())));
        return partitions;
    }

    private static String positions(KafkaConsumer<byte[], byte[]> consumer, Map<TopicPartition, Long> ends) {
        StringBuilder text = new StringBuilder();
        ends.forEach((partition, end) -> {
            if (consumer.position(partition) < end) text.append(partition).append(" at ").append(consumer.position(partition)).append(" of ").append(end).append("; ");
        });
        return text.toString();
    }

    /** All that is compared of the records of a partition. */
    private static final class Digest {
        private final MessageDigest sha;
        private final long begin;
        private final long end;
        private long count;
        private long first = -1;
        private long last = -1;

        Digest(long begin, long end) throws Exception {
            this.sha = MessageDigest.getInstance("SHA-256");
            this.begin = begin;
            this.end = end;
        }

        void add(ConsumerRecord<byte[], byte[]> record) {
            count++;
            if (first < 0) first = record.offset();
            last = record.offset();
            number(record.offset());
            number(record.timestamp());
            bytes(record.key());
            bytes(record.value());
            for (Header header : record.headers()) {
                bytes(header.key().getBytes(StandardCharsets.UTF_8));
                bytes(header.value());
            }
            number(-2);
        }

        private void number(long value) {
            sha.update(java.nio.ByteBuffer.allocate(8).putLong(value).array());
        }

        private void bytes(byte[] value) {
            number(value == null ? -1 : value.length);
            if (value != null) sha.update(value);
        }

        Map<String, Object> result(int partition) {
            Map<String, Object> result = new LinkedHashMap<>();
            result.put("partition", partition);
            result.put("beginningOffset", String.valueOf(begin));
            result.put("endOffset", String.valueOf(end));
            result.put("count", count);
            result.put("firstOffset", String.valueOf(first));
            result.put("lastOffset", String.valueOf(last));
            result.put("sha256", HexFormat.of().formatHex(sha.digest()));
            return result;
        }
    }

    private static String line(ConsumerRecord<byte[], byte[]> record, boolean hashed) throws Exception {
        StringBuilder headers = new StringBuilder();
        for (Header header : record.headers()) {
            if (headers.length() > 0) headers.append(',');
            headers.append(text(header.key().getBytes(StandardCharsets.UTF_8), false)).append('=').append(text(header.value(), hashed));
        }
        return record.partition() + "\t" + record.offset() + "\t" + record.timestamp() + "\t" + record.timestampType() + "\t"
                + text(record.key(), hashed) + "\t" + text(record.value(), hashed) + "\t" + headers;
    }

    /** Null is "-", bytes are "x" and hex; hashed, longer ones are "h", length, ":" and the start of their SHA-256. */
    private static String text(byte[] bytes, boolean hashed) throws Exception {
        if (bytes == null) return "-";
        if (!hashed || bytes.length <= 16) return "x" + HexFormat.of().formatHex(bytes);
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(bytes);
        return "h" + bytes.length + ":" + HexFormat.of().formatHex(digest, 0, 12);
    }

    private ReadLog() {}
}
