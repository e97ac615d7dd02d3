{{/*
What the pods of the webhook and of the controller have in common. Not here: their containers.
*/}}

{{/* Labels and annotations of pods: (list root component). Ours win over what is set. */}}
{{- define "bindery.podMetadata" -}}
{{- $root := index . 0 -}}
labels: {{- merge (include "bindery.labels" . | fromYaml) $root.Values.pod.labels | toYaml | nindent 2 }}
{{- with $root.Values.pod.annotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The settings of a pod's spec: (list root component). */}}
{{- define "bindery.podSettings" -}}
{{- $root := index . 0 -}}
{{- $pod := $root.Values.pod -}}
# Both programs ask the API server; Kubernetes renews the token by itself.
automountServiceAccountToken: true
enableServiceLinks: false
securityContext: {{- include "bindery.podSecurity" $root | nindent 2 }}
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 0 }}
{{- end }}
{{- with $pod.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
nodeSelector: {{- include "bindery.nodeSelector" $root | nindent 2 }}
{{- with $pod.tolerations }}
tolerations: {{- toYaml . | nindent 0 }}
{{- end }}
{{- with $pod.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
{{- if $pod.topologySpreadConstraints }}
{{- toYaml $pod.topologySpreadConstraints | nindent 0 }}
{{- else }}
# One zone or host that goes should not take every replica; where there is only one, pods run all the same.
{{- $labels := include "bindery.selectorLabels" . }}
{{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
- maxSkew: 1
  topologyKey: {{ . }}
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels: {{- $labels | nindent 6 }}
  matchLabelKeys: [pod-template-hash]
{{- end }}
{{- end }}
{{- end -}}

{{/* The security context of a pod. User and group are left out where the platform gives them. */}}
{{- define "bindery.podSecurity" -}}
runAsNonRoot: true
{{- range $key := list "runAsUser" "runAsGroup" "fsGroup" }}
{{- $value := index $.Values.pod.securityContext $key }}
{{- if not (kindIs "invalid" $value) }}
{{ $key }}: {{ int $value }}
{{- end }}
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{/* The nodes on which pods may run: the image is one of Linux. */}}
{{- define "bindery.nodeSelector" -}}
{{- merge (dict "kubernetes.io/os" "linux") .Values.pod.nodeSelector | toYaml -}}
{{- end -}}
