import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;

/**
 * Kafka's own clients behind a pipe, so that tests pay for the start of one JVM only. A request is a line
 * {@code {"id":1,"command":"read",…}}; answers are lines of {@code id TAB kind TAB payload}, where kind is R (one
 * record or event), E (end, with a JSON result) or X (error). Requests run side by side.
 */
public final class Worker {
    static final ObjectMapper JSON = new ObjectMapper();

    /** One thing the worker can do; what it returns becomes the JSON of the end line. */
    interface Command {
        Object run(JsonNode request, Answer answer) throws Exception;
    }

    /** Where a command writes its lines. */
    static final class Answer {
        private static final PrintStream OUT = new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), false);
        private final StringBuilder buffered = new StringBuilder();
        private final int id;

        Answer(int id) {
            this.id = id;
        }

        /** A record; lines are sent in lots. */
        void record(CharSequence line) {
            buffered.append(id).append("\tR\t").append(line).append('\n');
            if (buffered.length() > 1 << 16) flush();
        }

        /** An event that must not wait. */
        void event(CharSequence line) {
            record(line);
            flush();
        }

        void flush() {
            synchronized (OUT) {
                byte[] bytes = buffered.toString().getBytes(StandardCharsets.UTF_8);
                OUT.write(bytes, 0, bytes.length);
                OUT.flush();
            }
            buffered.setLength(0);
        }

        void end(String kind, String text) {
            buffered.append(id).append('\t').append(kind).append('\t').append(text.replace('\n', ' ')).append('\n');
            flush();
        }
    }

    private static final Map<String, Command> COMMANDS = new TreeMap<>();

    static {
        COMMANDS.put("read", ReadLog::read);
        COMMANDS.put("write", WriteLog::write);
        COMMANDS.put("writeRecords", WriteLog::writeRecords);
        COMMANDS.put("begin", WriteLog::begin);
        COMMANDS.put("end", WriteLog::end);
        COMMANDS.put("transactions", WriteLog::transactions);
        COMMANDS.put("rate", WriteLog::rate);
        COMMANDS.put("stop", WriteLog::stop);
        COMMANDS.put("createTopic", Topics::create);
        COMMANDS.put("deleteTopic", Topics::delete);
        COMMANDS.put("addPartitions", Topics::addPartitions);
        COMMANDS.put("topicConfigs", Topics::configs);
        COMMANDS.put("alterTopicConfigs", Topics::alterConfigs);
        COMMANDS.put("deleteRecords", Topics::deleteRecords);
        COMMANDS.put("offsets", Topics::offsets);
        COMMANDS.put("topics", Topics::list);
        COMMANDS.put("commit", Topics::commit);
        COMMANDS.put("committed", Topics::committed);
        COMMANDS.put("addAcl", Acls::add);
        COMMANDS.put("removeAcl", Acls::remove);
        COMMANDS.put("acls", Acls::list);
        COMMANDS.put("setScram", Topics::setScram);
        COMMANDS.put("leaders", Topics::leaders);
        COMMANDS.put("moveLeader", Topics::moveLeader);
        COMMANDS.put("expelMembers", Topics::expelMembers);
        COMMANDS.put("deleteGroup", Topics::deleteGroup);
        COMMANDS.put("groups", Groups::list);
        COMMANDS.put("commitGroups", Groups::commit);
        COMMANDS.put("groupPositions", Groups::positions);
        COMMANDS.put("shareOffsets", Groups::shareOffsets);
        COMMANDS.put("alterShareOffsets", Groups::alterShareOffsets);
        COMMANDS.put("configureGroup", Groups::configure);
        COMMANDS.put("joinGroup", Groups::join);
        COMMANDS.put("joinShareGroup", Groups::joinShare);
        COMMANDS.put("leaveGroup", Groups::leave);
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode request = JSON.readTree(line);
            Thread thread = new Thread(() -> serve(request));
            thread.setDaemon(true);
            thread.start();
        }
        // Halt, not exit: producers with open transactions must stay as a crash leaves them.
        Runtime.getRuntime().halt(0);
    }

    private static void serve(JsonNode request) {
        Answer answer = new Answer(request.get("id").asInt());
        try {
            Command command = COMMANDS.get(request.get("command").asText());
            if (command == null) throw new IllegalArgumentException("No such command: " + request.get("command"));
            answer.end("E", JSON.writeValueAsString(command.run(request, answer)));
        } catch (Throwable error) {
            Throwable cause = error instanceof java.util.concurrent.ExecutionException && error.getCause() != null ? error.getCause() : error;
            String why = cause.getCause() == null ? "" : " (" + cause.getCause() + ")";
            answer.end("X", cause.getClass().getSimpleName() + ": " + cause.getMessage() + why);
        }
    }

    /** Client settings of a request: {@code bootstrap}, and {@code properties} over them. */
    static Properties clientProperties(JsonNode request) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", request.get("bootstrap").asText());
        request.path("properties").fields().forEachRemaining(field -> properties.put(field.getKey(), field.getValue().asText()));
        return properties;
    }

    private Worker() {}
}
