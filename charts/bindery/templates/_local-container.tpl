{{/*
The container of the local static provisioner, and the pod around it.

What it needs of the node: the discovery folders with what is mounted in them later, /dev (links by UUID, and the devices
where it is privileged), the folder of the kubelet (which disks pods have mounted), a folder for marks, the machine-id. /sys
is every container's. Not here: how many pods there are (local.yaml).
*/}}

{{/* The settings of a pod's spec: (list root pool). */}}
{{- define "bindery.localPodSettings" -}}
{{- $root := index . 0 -}}
{{- $local := $root.Values.local -}}
{{- $pool := index . 1 -}}
{{- $tolerations := $pool.tolerations -}}
{{- if $local.removeNodeNotReadyTaint -}}
{{- $tolerations = append $tolerations (dict "key" $local.provisionerNotReadyNodeTaintKey "operator" "Exists") -}}
{{- end -}}
serviceAccountName: {{ include "bindery.localAccount" $root }}
automountServiceAccountToken: true
enableServiceLinks: false
# A cleaning that is under way goes on in the next pod: nothing is gained by waiting for it.
terminationGracePeriodSeconds: 10
securityContext:
  # Discovery folders and disks belong to root.
  runAsUser: 0
  runAsGroup: 0
  seccompProfile:
    type: RuntimeDefault
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 0 }}
{{- end }}
{{- with $local.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
nodeSelector: {{- toYaml $pool.nodeSelector | nindent 2 }}
{{- with $tolerations }}
tolerations: {{- toYaml . | nindent 0 }}
{{- end }}
{{- with $pool.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* What the container may do: (list root pool). Why it needs each capability: values.yaml, local.privileged. */}}
{{- define "bindery.localSecurity" -}}
{{- if (index . 1).privileged -}}
privileged: true
readOnlyRootFilesystem: true
{{- else -}}
allowPrivilegeEscalation: false
capabilities:
  drop: [ALL]
  add: [DAC_OVERRIDE, FOWNER, SYS_ADMIN]
privileged: false
readOnlyRootFilesystem: true
# SELinux: folders of the node are not labelled for containers.
seLinuxOptions:
  type: spc_t
{{- end -}}
{{- end -}}

{{- define "bindery.localContainer" -}}
{{- $root := index . 0 -}}
{{- $local := $root.Values.local -}}
{{- $pool := index . 1 -}}
- name: local
  args:
  - local
  - --config-dir
  - /etc/provisioner/config
  - --ledger-dir
  - {{ $local.ledgerDir }}
  - --kubelet-dir
  - {{ $local.kubeletDir }}
  {{- if $pool.useJobForCleaning }}
  - --job-service-account
  - {{ include "bindery.localJobAccount" $root }}
  {{- end }}
  - --listen-address
  - "[::]:8080"
  {{- include "bindery.loggingArguments" $root | nindent 2 }}
  env:
  - name: MY_NODE_NAME
    valueFrom:
      fieldRef:
        fieldPath: spec.nodeName
  {{- if $pool.useJobForCleaning }}
  - name: MY_NAMESPACE
    valueFrom:
      fieldRef:
        fieldPath: metadata.namespace
  - name: JOB_CONTAINER_IMAGE
    value: {{ include "bindery.image" $root | quote }}
  {{- end }}
  image: {{ include "bindery.image" $root | quote }}
  imagePullPolicy: {{ $root.Values.image.pullPolicy }}
  securityContext: {{- include "bindery.localSecurity" . | nindent 4 }}
  terminationMessagePolicy: FallbackToLogsOnError
  # Kubernetes' default is a file in /dev, which is the node's here.
  terminationMessagePath: /run/termination-log
  {{- with $pool.resources }}
  resources: {{- toYaml . | nindent 4 }}
  {{- end }}
  ports:
  - name: local-health
    containerPort: 8080
  # Ready means that every disk was decided about once. An API server that is away for minutes is no reason to restart.
  startupProbe:
    httpGet: {path: /livez, port: local-health}
    periodSeconds: 1
    timeoutSeconds: 2
    failureThreshold: 300
  readinessProbe:
    httpGet: {path: /readyz, port: local-health}
    periodSeconds: 5
    timeoutSeconds: 2
  livenessProbe:
    httpGet: {path: /livez, port: local-health}
    periodSeconds: 20
    timeoutSeconds: 5
    failureThreshold: 6
  volumeMounts:
  - name: config
    mountPath: /etc/provisioner/config
    readOnly: true
  # Devices can be written all the same, where the container is privileged.
  - name: dev
    mountPath: /dev
    readOnly: true
  - name: kubelet
    mountPath: {{ $local.kubeletDir }}
    mountPropagation: HostToContainer
    readOnly: true
  - name: ledger
    mountPath: {{ $local.ledgerDir }}
  {{- with $local.machineIdFile }}
  - name: machine-id
    mountPath: /etc/machine-id
    readOnly: true
  {{- end }}
  {{- range (include "bindery.localFolders" $pool | fromYaml).folders }}
  - name: {{ .name }}
    mountPath: {{ .mountPath }}
    mountPropagation: HostToContainer
  {{- end }}
{{- end -}}

{{- define "bindery.localVolumes" -}}
{{- $local := (index . 0).Values.local -}}
{{- $pool := index . 1 -}}
- name: config
  configMap:
    name: {{ $pool.object }}
- name: dev
  hostPath: {path: /dev, type: Directory}
- name: kubelet
  hostPath: {path: {{ $local.kubeletDir }}, type: Directory}
- name: ledger
  hostPath: {path: {{ $local.ledgerDir }}, type: DirectoryOrCreate}
{{- with $local.machineIdFile }}
- name: machine-id
  hostPath: {path: {{ . }}, type: File}
{{- end }}
{{- range (include "bindery.localFolders" $pool | fromYaml).folders }}
- name: {{ .name }}
  hostPath: {path: {{ .path }}, type: DirectoryOrCreate}
{{- end }}
{{- end -}}
