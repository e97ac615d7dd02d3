{{/*
Alerts on the metrics of the local static provisioner, for the rule of alerts.yaml.

A description says what is the case; what follows; what to do. docs/how-to/troubleshoot.md has a runbook under the name of
each. Not here: a disk that a pod still uses, or whose PVC exists: that ends by itself.
*/}}
{{- define "bindery.localAlerts" -}}
{{- $name := include "bindery.fullname" . -}}
{{- $namespace := .Release.Namespace -}}
{{- $local := printf "namespace=%q,job=%q" $namespace (print $name "-local-metrics") -}}
{{- $logs := printf "kubectl -n %s logs" $namespace -}}
- name: bindery-local
  rules:
  - alert: BinderyLocalDown
    expr: absent(bindery_local_ready{ {{- $local -}} })
    for: 5m
    labels: {severity: warning}
    annotations:
      runbook_url: {{ .Values.metrics.prometheusRule.runbooks }}#binderylocaldown
      summary: No pod of the Bindery local static provisioner runs
      description: >-
        No local static provisioner of {{ $namespace }}/{{ $name }} has run for five minutes; new disks are not offered
        and released ones not cleaned, while disks in use are not affected; look at
        `kubectl -n {{ $namespace }} get daemonsets,pods -l app.kubernetes.io/component=local`.
  - alert: BinderyLocalNotReady
    expr: >-
      max by (node, pod) (bindery_local_ready{ {{- $local -}} }) == 0
      unless max by (node, pod) (local_volume_provisioner_proctable_running{ {{- $local -}} }) > 0
    for: 20m
    labels: {severity: warning}
    annotations:
      runbook_url: {{ .Values.metrics.prometheusRule.runbooks }}#binderylocalnotready
      summary: A local static provisioner has not decided about all disks of its node
      description: >-
        Pod {{ `{{ $labels.pod }}` }} on node {{ `{{ $labels.node }}` }} has been up for twenty minutes and has not decided about
        all disks; some are not offered, and the taint of the node stays; `{{ $logs }} {{ `{{ $labels.pod }}` }}` has the
        reason, most often a permission or a disk that does not answer.
  - alert: BinderyLocalConfigurationInvalid
    expr: min by (node, pod) (bindery_configuration_last_reload_successful{ {{- $local -}} }) == 0
    for: 5m
    labels: {severity: warning}
    annotations:
      runbook_url: {{ .Values.metrics.prometheusRule.runbooks }}#binderylocalconfigurationinvalid
      summary: A local static provisioner cannot use its configuration
      description: >-
        The configuration of pod {{ `{{ $labels.pod }}` }} on node {{ `{{ $labels.node }}` }} is invalid; until it is corrected,
        the pod neither offers nor cleans a disk, while disks in use are not affected;
        `{{ $logs }} {{ `{{ $labels.pod }}` }}` names line and key; correct the ConfigMap, or the values and upgrade.
  - alert: BinderyDiskReplaced
    expr: sum by (node, storage_class) (bindery_local_disks{ {{- $local -}} ,state="other_disk"}) > 0
    for: 5m
    labels: {severity: critical}
    annotations:
      runbook_url: {{ .Values.metrics.prometheusRule.runbooks }}#binderydiskreplaced
      summary: Another disk is under the path of a PersistentVolume
      description: >-
        On node {{ `{{ $labels.node }}` }}, {{ `{{ $value }}` }} disks of StorageClass {{ `{{ $labels.storage_class }}` }} are
        not those that their PersistentVolumes were created for; a pod that starts sees the data of another disk, and
        nothing is cleaned; events DiskReplaced on the PersistentVolumes name both disks: scale down the pods that use
        them, wait until they are gone, then put the former disk back under the path.
  - alert: BinderyVolumeReservedWhileCleaned
    expr: sum by (node, storage_class) (bindery_local_disks{ {{- $local -}} ,state="reserved_while_cleaned"}) > 0
    labels: {severity: critical}
    annotations:
      runbook_url: {{ .Values.metrics.prometheusRule.runbooks }}#binderyvolumereservedwhilecleaned
      summary: A PersistentVolumeClaim got a PersistentVolume whose disk was being cleaned
      description: >-
        On node {{ `{{ $labels.node }}` }}, {{ `{{ $value }}` }} PersistentVolumes of StorageClass
        {{ `{{ $labels.storage_class }}` }} were given to a PersistentVolumeClaim while their disks were being cleaned; what
        the pod had written until then may be gone; back up what the PersistentVolumeClaim has now, then delete it: the
        event VolumeReservedWhileCleaned names it.
  - alert: BinderyDiskHeld
    expr: >-
      sum by (node, storage_class, state) (bindery_local_disks{ {{- $local -}} ,state=~"not_empty|offer_interrupted|unidentified|unusable|other_volume|name_taken|earlier_node|deleted_by_hand|job_ended|job_not_running"}) > 0
    for: 15m
    labels: {severity: warning}
    annotations:
      runbook_url: {{ .Values.metrics.prometheusRule.runbooks }}#binderydiskheld
      summary: Disks are not offered until a person decides
      description: >-
        On node {{ `{{ $labels.node }}` }}, {{ `{{ $value }}` }} disks of StorageClass {{ `{{ $labels.storage_class }}` }} are
        held ({{ `{{ $labels.state }}` }}); they are neither offered nor cleaned; `kubectl get events -A --field-selector
        source=bindery-local` says for each disk what to do.
  - alert: BinderyCleaningFails
    expr: >-
      sum by (node, pod, mode) (increase(local_volume_provisioner_persistentvolume_delete_failed_total{ {{- $local -}} }[10m])) > 2
    for: 15m
    labels: {severity: warning}
    annotations:
      runbook_url: {{ .Values.metrics.prometheusRule.runbooks }}#binderycleaningfails
      summary: A released disk cannot be cleaned
      description: >-
        On node {{ `{{ $labels.node }}` }}, {{ `{{ $value | humanize }}` }} cleanings ({{ `{{ $labels.mode }}` }}) have failed
        within ten minutes, and others before; the disks stay Released with the data of their former users; the event VolumeFailedDelete on
        the PersistentVolume has the reason: replace a disk that reports errors, correct blockCleanerCommand, or delete
        immutable files.
  - alert: BinderyLocalStepsFail
    expr: sum by (node, pod, step) (increase(bindery_local_failed_steps_total{ {{- $local -}} ,step!="clean"}[10m])) > 2
    for: 15m
    labels: {severity: warning}
    annotations:
      runbook_url: {{ .Values.metrics.prometheusRule.runbooks }}#binderylocalstepsfail
      summary: A step of the local static provisioner fails again and again
      description: >-
        On node {{ `{{ $labels.node }}` }} the step {{ `{{ $labels.step }}` }} has failed {{ `{{ $value | humanize }}` }} times
        within ten minutes, and before; its disk is not offered, or its PersistentVolume stays Released;
        `{{ $logs }} {{ `{{ $labels.pod }}` }}` has the reason: a missing permission, another policy, or a disk that does
        not answer.
  - alert: BinderyLocalScansFail
    expr: sum by (node, pod) (increase(bindery_local_scans_total{ {{- $local -}} ,outcome="failed"}[15m])) > 1
    for: 5m
    labels: {severity: warning}
    annotations:
      runbook_url: {{ .Values.metrics.prometheusRule.runbooks }}#binderylocalscansfail
      summary: The local static provisioner cannot see the mounts of its node
      description: >-
        On node {{ `{{ $labels.node }}` }} the mount table cannot be read; no disk is found and none is cleaned;
        `{{ $logs }} {{ `{{ $labels.pod }}` }}` has the reason; delete the pod, and report it if it comes again.
{{- if eq (include "bindery.hasNodeCleanup" .) "true" }}
{{- $cleanup := printf "namespace=%q,job=%q" $namespace (print (include "bindery.nodeCleanupName" .) "-metrics") }}
  - alert: BinderyNodeCleanupDown
    expr: (sum(increase(bindery_local_node_cleanup_rounds_total{ {{- $cleanup -}} ,outcome="ok"}[10m])) or vector(0)) == 0
    for: 5m
    labels: {severity: warning}
    annotations:
      runbook_url: {{ .Values.metrics.prometheusRule.runbooks }}#binderynodecleanupdown
      summary: The Bindery node cleanup does nothing
      description: >-
        No node cleanup of {{ $namespace }}/{{ $name }} has completed a round for fifteen minutes; pods whose local disk was
        on a lost node wait until one does; `{{ $logs }} -l app.kubernetes.io/component=local-node-cleanup` has the reason.
  - alert: BinderyNodeLost
    expr: >-
      sum by (storage_class, state) (bindery_local_node_cleanup_persistentvolumes{ {{- $cleanup -}} ,state=~"affinity_unknown|claim_terminating|disk_found|disk_missing|failed|no_other_ready|no_stateful_set|node_lost|node_relabelled|node_renamed|other_replica|pod_not_waiting|ready_out_of_service|too_many_replicas|volume_terminating"}) > 0
    for: 15m
    labels: {severity: warning}
    annotations:
      runbook_url: {{ .Values.metrics.prometheusRule.runbooks }}#binderynodelost
      summary: PersistentVolumeClaims wait for a lost node until a person decides
      description: >-
        {{ `{{ $value }}` }} PersistentVolumes of StorageClass {{ `{{ $labels.storage_class }}` }} cannot be reached
        ({{ `{{ $labels.state }}` }}); the pods of their PersistentVolumeClaims wait; `kubectl get events -A
        --field-selector source=bindery-local-node-cleanup` says for each PersistentVolumeClaim what to do.
{{- end }}
{{- end -}}
