{{/*
What is run of the local static provisioner: the pools, each with all its settings, and what cannot go together.

Not here: the objects (local.yaml), and the values of one key (values.schema.json).
*/}}

{{/*
The pools as `pools: [{object, name, classes, nodeSelector, …}]`; one without a name where all nodes are alike. A schema
cannot compare values with each other: what is wrong between them is an error here.
*/}}
{{- define "bindery.localPools" -}}
{{- $root := . -}}
{{- $local := .Values.local -}}
{{- if and $local.classes $local.pools -}}
{{- fail "local.classes: each pool of local.pools has classes of its own, and these would not be used; move them into a pool" -}}
{{- end -}}
{{- if not (or $local.classes $local.pools) -}}
{{- fail "local.enabled: no StorageClass has a discovery folder, and no disk would be found; set local.classes or local.pools" -}}
{{- end -}}
{{- range $class, $action := $local.onNodeLoss -}}
{{- if and $local.setPVOwnerRef (eq $action "keep") -}}
{{- fail (printf "local.onNodeLoss: the PVs of StorageClass %q are to be kept, and local.setPVOwnerRef deletes them with their Node; set local.setPVOwnerRef: false" $class) -}}
{{- end -}}
{{- end -}}
{{- $names := list -}}
{{- $pools := list -}}
{{- range default (list (dict "classes" $local.classes)) $local.pools -}}
{{- $name := default "" .name -}}
{{- if has $name $names -}}
{{- fail (printf "local.pools: two pools have the name %q, and both would be one DaemonSet; give each a name of its own" $name) -}}
{{- end -}}
{{- $names = append $names $name -}}
{{- $pool := dict "name" $name "object" (include "bindery.localName" (list $root $name)) -}}
{{- range $key := list "affinity" "jobTolerations" "privileged" "resources" "tolerations" "useJobForCleaning" -}}
{{- $_ := set $pool $key (get $local $key) -}}
{{- end -}}
{{- range $key, $value := . -}}
{{- if ne $key "name" -}}{{- $_ := set $pool $key $value -}}{{- end -}}
{{- end -}}
{{/* The image is made for Linux. */}}
{{- $_ := set $pool "nodeSelector" (merge (dict "kubernetes.io/os" "linux") (default dict .nodeSelector) $local.nodeSelector) -}}
{{- $classes := dict -}}
{{- range $class, $keys := .classes -}}
{{- $_ := set $classes $class (merge (dict) $keys (dict "mountDir" $keys.hostDir)) -}}
{{- end -}}
{{- $_ := set $pool "classes" $classes -}}
{{- include "bindery.localCheck" (list $root $pool) -}}
{{- $pools = append $pools $pool -}}
{{- end -}}
{{- toYaml (dict "pools" $pools) -}}
{{- end -}}

{{/* The name of a pool's objects: (list root pool). The installation's is cut so that the pool's is whole. */}}
{{- define "bindery.localName" -}}
{{- $full := include "bindery.fullname" (index . 0) -}}
{{- $pool := index . 1 -}}
{{- if $pool -}}
{{ $full | trunc (sub 56 (len $pool) | int) | trimSuffix "-" }}-local-{{ $pool }}
{{- else -}}
{{ $full }}-local
{{- end -}}
{{- end -}}

{{/* The account of the pods of all pools. */}}
{{- define "bindery.localAccount" -}}
{{ include "bindery.fullname" . }}-local
{{- end -}}

{{/* The account of the pods of Jobs that clean block devices. It has no rights. */}}
{{- define "bindery.localJobAccount" -}}
{{ include "bindery.fullname" . }}-local-job
{{- end -}}

{{/* Whether Jobs clean the block devices of any pool. */}}
{{- define "bindery.hasLocalJobs" -}}
{{- $has := false -}}
{{- if .Values.local.enabled -}}
{{- range (include "bindery.localPools" . | fromYaml).pools -}}
{{- $has = or $has .useJobForCleaning -}}
{{- end -}}
{{- end -}}
{{- $has -}}
{{- end -}}

{{/* Fails where the classes of a pool cannot be as they are: (list root pool). */}}
{{- define "bindery.localCheck" -}}
{{- $local := (index . 0).Values.local -}}
{{- $pool := index . 1 -}}
{{- $where := "local.classes" -}}
{{- $remedy := "set local.privileged: true" -}}
{{- if $pool.name -}}
{{- $where = printf "local.pools, %q" $pool.name -}}
{{- $remedy = "set privileged: true for this pool" -}}
{{- end -}}
{{- $taken := list "/bindery" "/etc" "/proc" "/sys" "/var/run/secrets" $local.kubeletDir $local.ledgerDir -}}
{{- $before := dict -}}
{{- range $class, $keys := $pool.classes -}}
{{- if not $pool.privileged -}}
{{- if eq (default "Filesystem" $keys.volumeMode) "Block" -}}
{{- fail (printf "%s: StorageClass %q has volumeMode Block, and only a privileged container may open block devices: its disks would be found and not offered; %s" $where $class $remedy) -}}
{{- end -}}
{{- if $keys.overwriteFreeSpace -}}
{{- fail (printf "%s: StorageClass %q has overwriteFreeSpace, and what ext4 keeps free is lent by a file in /sys, which only a privileged container may write: up to 2 %% of the free space would not be overwritten; %s" $where $class $remedy) -}}
{{- end -}}
{{- end -}}
{{- range $taken -}}
{{- if eq (include "bindery.overlap" (list . $keys.mountDir)) "true" -}}
{{- fail (printf "%s: mountDir %s of StorageClass %q overlaps with %s, which the pod needs itself; set another mountDir: it need not be hostDir" $where $keys.mountDir $class .) -}}
{{- end -}}
{{- end -}}
{{- range $other, $others := $before -}}
{{- range $key := list "hostDir" "mountDir" -}}
{{- $isOverlap := eq (include "bindery.overlap" (list (get $keys $key) (get $others $key))) "true" -}}
{{/* Of one folder, patterns can give each class disks of its own. */}}
{{- $isSame := and (eq $keys.hostDir $others.hostDir) (eq $keys.mountDir $others.mountDir) -}}
{{- $isDivided := and $isSame (ne (default "*" $keys.namePattern) (default "*" $others.namePattern)) -}}
{{- if and $isOverlap (not $isDivided) -}}
{{- fail (printf "%s: %s %s of StorageClass %q overlaps with %s of %q: a disk would be offered twice; give each a folder of its own" $where $key (get $keys $key) $class (get $others $key) $other) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $_ := set $before $class $keys -}}
{{- end -}}
{{- end -}}

{{/* Whether one of two folders is in the other, or both are one: (list folder folder). */}}
{{- define "bindery.overlap" -}}
{{- $one := printf "%s/" (index . 0) -}}
{{- $other := printf "%s/" (index . 1) -}}
{{- or (hasPrefix $one $other) (hasPrefix $other $one) -}}
{{- end -}}

{{/* The folders of the node that a pool's pods see, as `folders: [{name, path, mountPath}]`: each once. */}}
{{- define "bindery.localFolders" -}}
{{- $folders := list -}}
{{- $seen := list -}}
{{- range $class, $keys := .classes -}}
{{/* /dev is mounted for every pool: what is below it is there already. */}}
{{- $isOfDev := and (eq $keys.hostDir $keys.mountDir) (hasPrefix "/dev/" (print $keys.hostDir "/")) -}}
{{- if not (or $isOfDev (has $keys.mountDir $seen)) -}}
{{- $seen = append $seen $keys.mountDir -}}
{{- $name := printf "disks-%d" (len $folders) -}}
{{- $folders = append $folders (dict "name" $name "path" $keys.hostDir "mountPath" $keys.mountDir) -}}
{{- end -}}
{{- end -}}
{{- toYaml (dict "folders" $folders) -}}
{{- end -}}
