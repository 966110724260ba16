import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;

/** The rules of an authorizer as Kafka's admin client sees them. */
final class Acls {
    /** Sorted texts: PERMISSION OPERATION TYPE PATTERN name principal host. */
    static Object list(JsonNode request, Worker.Answer answer) throws Exception {
        try (Admin admin = Admin.create(Worker.clientProperties(request))) {
            List<String> result = new ArrayList<>();
            for (AclBinding binding : admin.describeAcls(AclBindingFilter.ANY).values().get()) {
                result.add(String.join(" ",
                        binding.entry().permissionType().name(), binding.entry().operation().name(),
                        binding.pattern().resourceType().name(), binding.pattern().patternType().name(), binding.pattern().name(),
                        binding.entry().principal(), binding.entry().host()));
            }
            Collections.sort(result);
            return result;
        }
    }

    /** Request: resourceType, resource, patternType, operation, principal, host (* unless told), permission (ALLOW unless told). */
    static Object add(JsonNode request, Worker.Answer answer) throws Exception {
        try (Admin admin = Admin.create(Worker.clientProperties(request))) {
            admin.createAcls(List.of(binding(request))).all().get();
            Shown.awaitThat("the rule " + binding(request), () -> isThere(admin, binding(request)));
            return Map.of();
        }
    }

    /** Request: as for add. Gives how many were removed. */
    static Object remove(JsonNode request, Worker.Answer answer) throws Exception {
        try (Admin admin = Admin.create(Worker.clientProperties(request))) {
            int removed = admin.deleteAcls(List.of(binding(request).toFilter())).all().get().size();
            Shown.awaitThat("the end of the rule " + binding(request), () -> !isThere(admin, binding(request)));
            return Map.of("removed", removed);
        }
    }

    private static boolean isThere(Admin admin, AclBinding binding) throws Exception {
        return !admin.describeAcls(binding.toFilter()).values().get().isEmpty();
    }

    private static AclBinding binding(JsonNode request) {
        ResourcePattern pattern = new ResourcePattern(
                ResourceType.fromString(request.get("resourceType").asText()),
                request.get("resource").asText(),
                PatternType.fromString(request.path("patternType").asText("LITERAL")));
        AccessControlEntry entry = new AccessControlEntry(
                request.get("principal").asText(), request.path("host").asText("*"),
                AclOperation.fromString(request.get("operation").asText()),
                AclPermissionType.fromString(request.path("permission").asText("ALLOW")));
        return new AclBinding(pattern, entry);
    }

    private Acls() {}
}
