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
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 0 }}
{{- end }}
{{- with $pod.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $pod.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
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
# One host that goes should not take every replica; where there is only one host, pods run all the same.
- maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels: {{- include "bindery.selectorLabels" . | nindent 6 }}
  matchLabelKeys: [pod-template-hash]
{{- end }}
{{- end -}}
