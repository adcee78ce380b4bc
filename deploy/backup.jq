# Reads `kubectl get sdewan,cnfdeploy -A -o json`, and prints what `sdewan apply` is to make of it on another cluster.
# The coordinator makes its own rules anew, with the addresses of that cluster, and a rule that is being deleted is over.
# Rules of one order stand by age. Nothing can bring their ages back, so each gets its place as its order: up to -1
# where that was 0, so that rules that come later still stand behind them.

def order: .metadata.annotations["sdewan.akraino.org/order"] // 0 | tonumber? // 0;

.items |= (
  map(select(
    .metadata
    | .ownerReferences == null and .deletionTimestamp == null
      and .labels["app.kubernetes.io/managed-by"] != "sdewan-coordinator"
  ))
  # FirewallDNATs and CNFNATs are sections of one type. Of one second, the former come first.
  | sort_by(order, .metadata.creationTimestamp, .kind == "CNFNAT", .kind, .metadata.name)
  | (map(select(order <= 0)) | length) as $early
  | to_entries
  | map(
      (.key - $early) as $place
      | .value
      | if .kind == "CNFDeployment" then .
        else .metadata.annotations["sdewan.akraino.org/order"] = ($place + if $place < 0 then 0 else 1 end | tostring)
        end
      | del(.status, .metadata["uid", "resourceVersion", "creationTimestamp", "generation"])
      | del(.metadata.annotations["sdewan.akraino.org/pod-addresses"])
    )
)
