{{/*
The two containers, and what pods and containers have in common.

Not here: how many pods there are (webhook.yaml, controller.yaml), and what the containers may do in the
cluster (rbac-webhook.yaml, rbac-controller.yaml).
*/}}

{{/* The image: by its digest where one is given, so that nothing else can run. */}}
{{- define "bindery.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ default $.Chart.AppVersion .tag }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What every container has: the image, the profile "restricted" of Pod Security, resources. */}}
{{- define "bindery.containerBase" -}}
image: {{ include "bindery.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  capabilities:
    drop: [ALL]
  privileged: false
  readOnlyRootFilesystem: true
terminationMessagePolicy: FallbackToLogsOnError
{{- with .Values.pod.resources }}
resources: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "bindery.loggingArguments" -}}
- --log-level
- {{ .Values.logging.level | quote }}
- --log-format
- {{ .Values.logging.format }}
{{- end -}}

{{/* The configuration, and what is used where it is wrong at the start (bindery.configMount). */}}
{{- define "bindery.configArguments" -}}
- --config
- /etc/bindery/config/config.yaml
- --config-last-good
- /etc/bindery/config-last-good/config.yaml
{{- end -}}

{{/*
The webhook. There is no preStop: the process would not know that it ends. It waits by itself
(--drain-delay) with its readiness taken back and every reply asking for another connection.
*/}}
{{- define "bindery.webhookContainer" -}}
- name: webhook
  args:
  - webhook
  - --listen
  - "[::]:{{ int .Values.webhook.port }}"
  - --health-listen
  - "{{ include "bindery.healthAddress" (list . "webhook") }}:8081"
  {{- include "bindery.configArguments" . | nindent 2 }}
  - --drain-delay
  - {{ .Values.webhook.drainDelay }}
  {{- include "bindery.loggingArguments" . | nindent 2 }}
  # Without files, its Secret is watched through the API: a mounted one reaches a pod up to two minutes late.
  - --installation
  - {{ include "bindery.installation" . }}
  {{- if ne .Values.certs.mode "selfSigned" }}
  - --tls-cert-file
  - /etc/bindery/tls/tls.crt
  - --tls-private-key-file
  - /etc/bindery/tls/tls.key
  {{- end }}
  {{- with .Values.webhook.clientCA }}
  {{- if .configMap }}
  - --client-ca-file
  - /etc/bindery/client-ca/ca.crt
  {{- range .names }}
  - --client-name
  - {{ . | quote }}
  {{- end }}
  {{- end }}
  {{- end }}
  {{- with .Values.webhook.extraArgs }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- include "bindery.containerBase" . | nindent 2 }}
  ports:
  - name: https
    containerPort: {{ int .Values.webhook.port }}
  - name: health
    containerPort: 8081
  # Started means that everything was listed once and the certificate is there. An API server that is away
  # for minutes is no reason to restart.
  startupProbe:
    httpGet: {path: /startupz, port: health{{ include "bindery.probeHost" (list . "webhook") }}}
    periodSeconds: 1
    timeoutSeconds: 2
    failureThreshold: 300
  readinessProbe:
    httpGet: {path: /readyz, port: health{{ include "bindery.probeHost" (list . "webhook") }}}
    periodSeconds: 2
    timeoutSeconds: 2
    failureThreshold: 2
  livenessProbe:
    httpGet: {path: /livez, port: health{{ include "bindery.probeHost" (list . "webhook") }}}
    periodSeconds: 10
    timeoutSeconds: 5
    failureThreshold: 6
  volumeMounts: {{- include "bindery.configMount" . | nindent 2 }}
  {{- if ne .Values.certs.mode "selfSigned" }}
  - name: tls
    mountPath: /etc/bindery/tls
    readOnly: true
  {{- end }}
  {{- if .Values.webhook.clientCA.configMap }}
  - name: client-ca
    mountPath: /etc/bindery/client-ca
    readOnly: true
  {{- end }}
{{- end -}}

{{/*
Where probes and metrics of a pod are served: (list root component). In the network of the node every neighbour can
read them: where nothing scrapes them, only the node itself reaches them.
*/}}
{{- define "bindery.healthAddress" -}}
{{- if eq (include "bindery.isHealthLocal" .) "true" -}}
127.0.0.1
{{- else -}}
[::]
{{- end -}}
{{- end -}}

{{/* Whether only the node reaches them: (list root component). Of all pods, the webhook's alone are in the network of their nodes. */}}
{{- define "bindery.isHealthLocal" -}}
{{- $root := index . 0 -}}
{{- and (eq (index . 1) "webhook") $root.Values.pod.hostNetwork (ne (include "bindery.hasMetricsService" $root) "true") -}}
{{- end -}}

{{/* The kubelet then asks on the node's own address: (list root component). */}}
{{- define "bindery.probeHost" -}}
{{- if eq (include "bindery.isHealthLocal" .) "true" -}}
, host: 127.0.0.1
{{- end -}}
{{- end -}}

{{/* The controller. Which probes it has is its pod's to say. */}}
{{- define "bindery.controllerContainer" -}}
- name: controller
  args:
  - controller
  - --mode
  - {{ .Values.controller.mode }}
  {{- if eq .Values.controller.mode "full" }}
  - --in-tree-binder-disabled
  {{- end }}
  - --health-listen
  - "{{ include "bindery.healthAddress" (list . (include "bindery.controllerComponent" .)) }}:8082"
  - --lease-namespace
  - {{ .Release.Namespace }}
  - --lease-name
  - {{ include "bindery.fullname" . }}-controller
  - --events={{ .Values.controller.events }}
  - --config
  - /etc/bindery/config/config.yaml
  - --config-map
  - {{ include "bindery.fullname" . }}-config
  - --config-last-good
  - /etc/bindery/config-last-good/config.yaml
  - --config-last-good-map
  - {{ include "bindery.fullname" . }}-config-last-good
  {{- include "bindery.loggingArguments" . | nindent 2 }}
  {{- if eq (include "bindery.isSelfSigned" .) "true" }}
  - --installation
  - {{ include "bindery.installation" . }}
  {{- end }}
  {{- if eq (include "bindery.isProbed" .) "true" }}
  - --guard
  - {{ include "bindery.installation" . }}
  {{- end }}
  {{- with .Values.controller.extraArgs }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- include "bindery.containerBase" . | nindent 2 }}
  ports:
  - name: ctrl-health
    containerPort: 8082
  volumeMounts: {{- include "bindery.configMount" . | nindent 2 }}
{{- end -}}

{{/* The folder, not the file: a file that is mounted alone never changes. */}}
{{- define "bindery.configMount" -}}
- name: config
  mountPath: /etc/bindery/config
  readOnly: true
{{- if .Values.controller.enabled }}
- name: config-last-good
  mountPath: /etc/bindery/config-last-good
  readOnly: true
{{- end }}
{{- with .Values.pod.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "bindery.configVolume" -}}
- name: config
  configMap:
    name: {{ include "bindery.fullname" . }}-config
{{- if .Values.controller.enabled }}
# What the leader keeps there is used by a pod that starts while the configuration is wrong. It must start without it too.
- name: config-last-good
  configMap:
    name: {{ include "bindery.fullname" . }}-config-last-good
    optional: true
{{- end }}
{{- with .Values.pod.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}
