import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Groups of all types, and their members, with Kafka's own clients. */
final class Groups {
    private static final Map<Integer, CountDownLatch> MEMBERS = new ConcurrentHashMap<>();

    private interface Use {
        Object of(Admin admin) throws Exception;
    }

    private static Object with(JsonNode request, Use use) throws Exception {
        try (Admin admin = Admin.create(Worker.clientProperties(request))) {
            return use.of(admin);
        }
    }

    /** Group → its type as Kafka spells it, and state. */
    static Object list(JsonNode request, Worker.Answer answer) throws Exception {
        return with(request, admin -> {
            Map<String, Object> result = new TreeMap<>();
            admin.listGroups().all().get().forEach(group -> result.put(group.groupId(), Map.of(
                    "type", group.type().map(Object::toString).orElse(""), "state", group.groupState().map(Object::toString).orElse(""))));
            return result;
        });
    }

    /** Request: positions: {group: [{topic, partition, offset, metadata, leaderEpoch}]}. All groups at once; they must be empty. */
    static Object commit(JsonNode request, Worker.Answer answer) throws Exception {
        return with(request, admin -> {
            List<KafkaFuture<Void>> commits = new ArrayList<>();
            request.get("positions").fields().forEachRemaining(group -> {
                Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                for (JsonNode position : group.getValue()) {
                    Optional<Integer> epoch = position.has("leaderEpoch") ? Optional.of(position.get("leaderEpoch").asInt()) : Optional.empty();
                    offsets.put(partition(position), new OffsetAndMetadata(position.get("offset").asLong(), epoch, position.path("metadata").asText("")));
                }
                commits.add(admin.alterConsumerGroupOffsets(group.getKey(), offsets).all());
            });
            for (KafkaFuture<Void> commit : commits) commit.get();
            return Map.of();
        });
    }

    private static TopicPartition partition(JsonNode position) {
        return new TopicPartition(position.get("topic").asText(), position.path("partition").asInt(0));
    }

    /** Request: groups. Group → {topic-partition → offset, metadata, leaderEpoch (-1: none)}. */
    static Object positions(JsonNode request, Worker.Answer answer) throws Exception {
        return with(request, admin -> {
            Map<String, ListConsumerGroupOffsetsSpec> groups = new HashMap<>();
            request.get("groups").forEach(group -> groups.put(group.asText(), new ListConsumerGroupOffsetsSpec()));
            Map<String, Object> result = new TreeMap<>();
            admin.listConsumerGroupOffsets(groups).all().get().forEach((group, offsets) -> {
                Map<String, Object> positions = new TreeMap<>();
                offsets.forEach((partition, offset) -> positions.put(partition.toString(), Map.of(
                        "offset", String.valueOf(offset.offset()), "metadata", offset.metadata(), "leaderEpoch", offset.leaderEpoch().orElse(-1))));
                result.put(group, positions);
            });
            return result;
        });
    }

    /** Request: group. topic-partition → where the share group starts. */
    static Object shareOffsets(JsonNode request, Worker.Answer answer) throws Exception {
        return with(request, admin -> {
            String group = request.get("group").asText();
            Map<String, Object> result = new TreeMap<>();
            admin.listShareGroupOffsets(Map.of(group, new ListShareGroupOffsetsSpec())).partitionsToOffsetInfo(group).get()
                    .forEach((partition, info) -> {
                        if (info != null) result.put(partition.toString(), String.valueOf(info.startOffset()));
                    });
            return result;
        });
    }

    /** Request: group, topic, offsets: {partition: offset}. Where a share group without members starts; it is made if it is not there. */
    static Object alterShareOffsets(JsonNode request, Worker.Answer answer) throws Exception {
        return with(request, admin -> {
            Map<TopicPartition, Long> offsets = new HashMap<>();
            request.get("offsets").fields().forEachRemaining(entry -> offsets.put(
                    new TopicPartition(request.get("topic").asText(), Integer.parseInt(entry.getKey())), entry.getValue().asLong()));
            admin.alterShareGroupOffsets(request.get("group").asText(), offsets).all().get();
            return Map.of();
        });
    }

    /** Request: group, configs. Settings of a group, such as where a share group begins. */
    static Object configure(JsonNode request, Worker.Answer answer) throws Exception {
        return with(request, admin -> {
            List<AlterConfigOp> operations = new ArrayList<>();
            request.get("configs").fields().forEachRemaining(entry -> operations.add(
                    new AlterConfigOp(new ConfigEntry(entry.getKey(), entry.getValue().asText()), AlterConfigOp.OpType.SET)));
            ConfigResource resource = new ConfigResource(ConfigResource.Type.GROUP, request.get("group").asText());
            admin.incrementalAlterConfigs(Map.of(resource, operations)).all().get();
            return Map.of();
        });
    }

    private static Properties memberProperties(JsonNode request) {
        Properties properties = Worker.clientProperties(request);
        properties.put("group.id", request.get("group").asText());
        properties.put("key.deserializer", ByteArrayDeserializer.class.getName());
        properties.put("value.deserializer", ByteArrayDeserializer.class.getName());
        return properties;
    }

    /**
     * Request: group, topic, protocol (classic or consumer). A member that reads until the request
     * {@code leaveGroup} with this request's id as {@code of}. Lines: {@code assigned TAB partitions}, and {@code record TAB
     * topic-partition TAB offset}. Commits what it has read when it leaves, unless {@code commit} is false.
     */
    static Object join(JsonNode request, Worker.Answer answer) throws Exception {
        int id = request.get("id").asInt();
        CountDownLatch leave = new CountDownLatch(1);
        MEMBERS.put(id, leave);
        Properties properties = memberProperties(request);
        properties.put("group.protocol", request.path("protocol").asText("classic"));
        properties.put("auto.offset.reset", request.path("reset").asText("earliest"));
        properties.put("enable.auto.commit", "false");
        properties.put("max.poll.records", request.path("max").asText("500"));
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties)) {
            consumer.subscribe(List.of(request.get("topic").asText()), new ConsumerRebalanceListener() {
                @Override
                public void onPartitionsRevoked(Collection<TopicPartition> partitions) {}

                @Override
                public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                    answer.event("assigned\t" + partitions.size());
                }
            });
            boolean commit = request.path("commit").asBoolean(true);
            while (leave.getCount() > 0) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100)))
                    answer.event("record\t" + record.topic() + "-" + record.partition() + "\t" + record.offset());
                if (commit) consumer.commitSync();
            }
        } finally {
            MEMBERS.remove(id);
        }
        return Map.of();
    }

    /** As join, with a member of a share group that accepts what it reads. */
    static Object joinShare(JsonNode request, Worker.Answer answer) throws Exception {
        int id = request.get("id").asInt();
        CountDownLatch leave = new CountDownLatch(1);
        MEMBERS.put(id, leave);
        try (KafkaShareConsumer<byte[], byte[]> consumer = new KafkaShareConsumer<>(memberProperties(request))) {
            consumer.subscribe(List.of(request.get("topic").asText()));
            while (leave.getCount() > 0) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100)))
                    answer.event("record\t" + record.topic() + "-" + record.partition() + "\t" + record.offset());
                consumer.commitSync();
            }
        } finally {
            MEMBERS.remove(id);
        }
        return Map.of();
    }

    static Object leave(JsonNode request, Worker.Answer answer) {
        CountDownLatch latch = MEMBERS.get(request.get("of").asInt());
        if (latch != null) latch.countDown();
        return Map.of();
    }

    private Groups() {}
}
