import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.acl.AccessControlEntryFilter;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePatternFilter;
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

    /** Request: as for addAcl. Gives how many were removed. */
    static Object remove(JsonNode request, Worker.Answer answer) throws Exception {
        try (Admin admin = Admin.create(Worker.clientProperties(request))) {
            ResourcePatternFilter pattern = new ResourcePatternFilter(
                    ResourceType.fromString(request.get("resourceType").asText()),
                    request.get("resource").asText(),
                    PatternType.fromString(request.path("patternType").asText("LITERAL")));
            AccessControlEntryFilter entry = new AccessControlEntryFilter(
                    request.get("principal").asText(), request.path("host").asText("*"),
                    AclOperation.fromString(request.get("operation").asText()),
                    AclPermissionType.fromString(request.path("permission").asText("ALLOW")));
            return Map.of("removed", admin.deleteAcls(List.of(new AclBindingFilter(pattern, entry))).all().get().size());
        }
    }

    private Acls() {}
}
