import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListOffsetsResult;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.ElectionNotNeededException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** What tests do to topics, groups and rights with Kafka's admin client. */
final class Topics {
    private interface Use {
        Object of(Admin admin) throws Exception;
    }

    private static Object with(JsonNode request, Use use) throws Exception {
        try (Admin admin = Admin.create(Worker.clientProperties(request))) {
            return use.of(admin);
        }
    }

    private static String topic(JsonNode request) {
        return request.get("topic").asText();
    }

    private static Map<String, String> map(JsonNode object) {
        Map<String, String> result = new HashMap<>();
        object.fields().forEachRemaining(field -> result.put(field.getKey(), field.getValue().isNull() ? null : field.getValue().asText()));
        return result;
    }

    /** Also when the broker that is asked has not heard of the topic yet. */
    private static TopicDescription describe(Admin admin, String topic) throws Exception {
        return Shown.await("topic " + topic, () -> find(admin, topic));
    }

    private static Optional<TopicDescription> find(Admin admin, String topic) throws Exception {
        try {
            return Optional.of(admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic));
        } catch (ExecutionException error) {
            if (!(error.getCause() instanceof UnknownTopicOrPartitionException)) throw error;
            return Optional.empty();
        }
    }

    private static List<TopicPartition> partitions(Admin admin, String topic) throws Exception {
        List<TopicPartition> result = new ArrayList<>();
        describe(admin, topic).partitions().forEach(info -> result.add(new TopicPartition(topic, info.partition())));
        return result;
    }

    /** Request: partitions and replicationFactor, or assignments: the brokers of each partition. */
    static Object create(JsonNode request, Worker.Answer answer) throws Exception {
        return with(request, admin -> {
            NewTopic topic = request.has("assignments")
                    ? new NewTopic(topic(request), assignments(request.get("assignments")))
                    : new NewTopic(topic(request), request.path("partitions").asInt(1), (short) request.path("replicationFactor").asInt(1));
            admin.createTopics(List.of(topic.configs(map(request.path("configs"))))).all().get();
            awaitTopic(admin, topic(request), 1);
            return Map.of();
        });
    }

    /**
     * Until its leaders have its logs: of the batches an idempotent producer has under way, a broker that has just been told may
     * refuse the first and then take the second, after which the first is out of sequence for ever.
     */
    private static void awaitTopic(Admin admin, String topic, int partitions) throws Exception {
        Shown.awaitThat("topic " + topic, () -> {
            List<TopicPartitionInfo> shown = describe(admin, topic).partitions();
            return shown.size() >= partitions && shown.stream().allMatch(partition -> partition.leader() != null);
        });
        Map<TopicPartition, OffsetSpec> ends = new HashMap<>();
        partitions(admin, topic).forEach(partition -> ends.put(partition, OffsetSpec.latest()));
        admin.listOffsets(ends).all().get();
    }

    private static Map<Integer, List<Integer>> assignments(JsonNode list) {
        Map<Integer, List<Integer>> result = new HashMap<>();
        for (JsonNode brokers : list) {
            List<Integer> replicas = new ArrayList<>();
            brokers.forEach(broker -> replicas.add(broker.asInt()));
            result.put(result.size(), replicas);
        }
        return result;
    }

    /** Leader (-1: none) and in-sync replicas of every partition. */
    static Object leaders(JsonNode request, Worker.Answer answer) throws Exception {
        return with(request, admin -> {
            List<Map<String, Object>> result = new ArrayList<>();
            for (TopicPartitionInfo info : describe(admin, topic(request)).partitions()) {
                int leader = info.leader() == null ? -1 : info.leader().id();
                result.add(Map.of("partition", info.partition(), "leader", leader, "inSync", info.isr().stream().map(node -> node.id()).toList()));
            }
            return result;
        });
    }

    /** Request: partition, leader. The broker becomes the first of the partition's replicas, and so its leader. */
    static Object moveLeader(JsonNode request, Worker.Answer answer) throws Exception {
        return with(request, admin -> {
            TopicPartition partition = new TopicPartition(topic(request), request.get("partition").asInt());
            int leader = request.get("leader").asInt();
            List<Integer> replicas = new ArrayList<>(List.of(leader));
            describe(admin, partition.topic()).partitions().get(partition.partition()).replicas().stream()
                    .map(node -> node.id()).filter(id -> id != leader).forEach(replicas::add);
            admin.alterPartitionReassignments(Map.of(partition, Optional.of(new NewPartitionReassignment(replicas)))).all().get();
            try {
                admin.electLeaders(ElectionType.PREFERRED, Set.of(partition)).all().get();
            } catch (ExecutionException error) {
                if (!(error.getCause() instanceof ElectionNotNeededException)) throw error;
            }
            return Map.of();
        });
    }

    /** Request: group. Its members are thrown out, and learn of it at their next heartbeat. */
    static Object expelMembers(JsonNode request, Worker.Answer answer) throws Exception {
        return with(request, admin -> {
            admin.removeMembersFromConsumerGroup(request.get("group").asText(), new RemoveMembersFromConsumerGroupOptions()).all().get();
            return Map.of();
        });
    }

    static Object deleteGroup(JsonNode request, Worker.Answer answer) throws Exception {
        return with(request, admin -> {
            admin.deleteConsumerGroups(List.of(request.get("group").asText())).all().get();
            return Map.of();
        });
    }

    static Object delete(JsonNode request, Worker.Answer answer) throws Exception {
        return with(request, admin -> {
            Uuid deleted = describe(admin, topic(request)).topicId();
            admin.deleteTopics(List.of(topic(request))).all().get();
            // What is written before it is gone may go to the old log under a new topic's name, and be deleted with it.
            Shown.awaitThat("the end of topic " + topic(request),
                    () -> find(admin, topic(request)).map(found -> !found.topicId().equals(deleted)).orElse(true));
            return Map.of();
        });
    }

    static Object addPartitions(JsonNode request, Worker.Answer answer) throws Exception {
        return with(request, admin -> {
            int wanted = request.get("partitions").asInt();
            admin.createPartitions(Map.of(topic(request), NewPartitions.increaseTo(wanted))).all().get();
            awaitTopic(admin, topic(request), wanted);
            return Map.of();
        });
    }

    /** Names and ids of all topics, internal ones included. */
    static Object list(JsonNode request, Worker.Answer answer) throws Exception {
        return with(request, admin -> {
            Map<String, String> result = new TreeMap<>();
            admin.listTopics(new ListTopicsOptions().listInternal(true)).listings().get()
                    .forEach(listing -> result.put(listing.name(), listing.topicId().toString()));
            return result;
        });
    }

    /** The settings made on the topic itself. */
    static Object configs(JsonNode request, Worker.Answer answer) throws Exception {
        return with(request, admin -> overrides(admin, topic(request)));
    }

    private static Map<String, String> overrides(Admin admin, String topic) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        Map<String, String> result = new TreeMap<>();
        for (ConfigEntry entry : admin.describeConfigs(List.of(resource)).all().get().get(resource).entries()) {
            if (entry.source() == ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG) result.put(entry.name(), entry.value());
        }
        return result;
    }

    /** Request: configs; null deletes the override. */
    static Object alterConfigs(JsonNode request, Worker.Answer answer) throws Exception {
        return with(request, admin -> {
            List<AlterConfigOp> operations = new ArrayList<>();
            Map<String, String> wanted = map(request.get("configs"));
            wanted.forEach((key, value) -> operations.add(new AlterConfigOp(
                    new ConfigEntry(key, value), value == null ? AlterConfigOp.OpType.DELETE : AlterConfigOp.OpType.SET)));
            admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.TOPIC, topic(request)), operations)).all().get();
            Shown.awaitThat(wanted + " of topic " + topic(request), () -> {
                Map<String, String> shown = overrides(admin, topic(request));
                return wanted.entrySet().stream().allMatch(entry -> Objects.equals(shown.get(entry.getKey()), entry.getValue()));
            });
            return Map.of();
        });
    }

    /** Request: partition, before (offset). */
    static Object deleteRecords(JsonNode request, Worker.Answer answer) throws Exception {
        return with(request, admin -> {
            TopicPartition partition = new TopicPartition(topic(request), request.path("partition").asInt(0));
            admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(request.get("before").asLong()))).all().get();
            return Map.of();
        });
    }

    /** Log start and log end (high watermark) of every partition. */
    static Object offsets(JsonNode request, Worker.Answer answer) throws Exception {
        return with(request, admin -> {
            List<Map<String, Object>> result = new ArrayList<>();
            List<TopicPartition> partitions = partitions(admin, topic(request));
            Map<TopicPartition, OffsetSpec> earliest = new HashMap<>();
            Map<TopicPartition, OffsetSpec> latest = new HashMap<>();
            for (TopicPartition partition : partitions) {
                earliest.put(partition, OffsetSpec.earliest());
                latest.put(partition, OffsetSpec.latest());
            }
            ListOffsetsResult begins = admin.listOffsets(earliest);
            ListOffsetsResult ends = admin.listOffsets(latest);
            for (TopicPartition partition : partitions) {
                Map<String, Object> bounds = new LinkedHashMap<>();
                bounds.put("partition", partition.partition());
                bounds.put("beginningOffset", String.valueOf(begins.partitionResult(partition).get().offset()));
                bounds.put("endOffset", String.valueOf(ends.partitionResult(partition).get().offset()));
                result.add(bounds);
            }
            return result;
        });
    }

    /** Request: group, topic, offsets: {partition: offset}. The group must be empty. */
    static Object commit(JsonNode request, Worker.Answer answer) throws Exception {
        return with(request, admin -> {
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            map(request.get("offsets")).forEach((partition, offset) -> offsets.put(
                    new TopicPartition(topic(request), Integer.parseInt(partition)), new OffsetAndMetadata(Long.parseLong(offset), Optional.empty(), "")));
            admin.alterConsumerGroupOffsets(request.get("group").asText(), offsets).all().get();
            return Map.of();
        });
    }

    static Object committed(JsonNode request, Worker.Answer answer) throws Exception {
        return with(request, admin -> {
            Map<String, String> result = new TreeMap<>();
            admin.listConsumerGroupOffsets(request.get("group").asText()).partitionsToOffsetAndMetadata().get()
                    .forEach((partition, offset) -> result.put(partition.toString(), String.valueOf(offset.offset())));
            return result;
        });
    }

    /** Request: user, password, mechanism (SCRAM-SHA-256 or SCRAM-SHA-512). */
    static Object setScram(JsonNode request, Worker.Answer answer) throws Exception {
        return with(request, admin -> {
            ScramCredentialInfo info = new ScramCredentialInfo(ScramMechanism.fromMechanismName(request.get("mechanism").asText()), 4096);
            admin.alterUserScramCredentials(List.of(
                    new UserScramCredentialUpsertion(request.get("user").asText(), info, request.get("password").asText()))).all().get();
            return Map.of();
        });
    }

    private Topics() {}
}
