{{/*
Names and labels that every object has in common.

All names derive from the name of the installation, in the program as in the chart. Not here: the arguments of
containers (_containers.tpl).
*/}}

{{/* What the chart is called in labels and names. */}}
{{- define "bindery.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{/* The name of the installation. Cut so that the longest ending still fits the name of a service. */}}
{{- define "bindery.fullname" -}}
{{- $name := include "bindery.name" . -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- $full | trunc 44 | trimSuffix "-" -}}
{{- end -}}

{{/* NAMESPACE/NAME: what programs and messages call the installation. */}}
{{- define "bindery.installation" -}}
{{ .Release.Namespace }}/{{ include "bindery.fullname" . }}
{{- end -}}

{{/* Labels by which objects of a component are selected; they never change: (list root component). */}}
{{- define "bindery.selectorLabels" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/component: {{ index . 1 }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/name: {{ include "bindery.name" $root }}
{{- end -}}

{{/* All labels of an object: (list root component). Ours win over commonLabels. */}}
{{- define "bindery.labels" -}}
{{- $root := index . 0 -}}
{{- $labels := include "bindery.selectorLabels" . | fromYaml -}}
{{- $_ := set $labels "app.kubernetes.io/managed-by" $root.Release.Service -}}
{{- $_ := set $labels "app.kubernetes.io/part-of" "bindery" -}}
{{- $_ := set $labels "app.kubernetes.io/version" (replace "+" "_" $root.Chart.AppVersion) -}}
{{- $_ := set $labels "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_") -}}
{{- merge $labels $root.Values.commonLabels | toYaml -}}
{{- end -}}

{{/*
The account of the webhook's pods, and of the controller where it is a container of them.
*/}}
{{- define "bindery.webhookAccount" -}}
{{ include "bindery.fullname" . }}
{{- end -}}

{{/* The account of the controller. */}}
{{- define "bindery.controllerAccount" -}}
{{- if eq (include "bindery.hasOwnDeployment" .) "true" -}}
{{ include "bindery.fullname" . }}-controller
{{- else -}}
{{ include "bindery.webhookAccount" . }}
{{- end -}}
{{- end -}}

{{/* How the policies of the rules are installed. YAML reads a bare `off` as false. */}}
{{- define "bindery.policies" -}}
{{- kindIs "string" .Values.policies | ternary .Values.policies "off" -}}
{{- end -}}

{{/* Whether there is a webhook. */}}
{{- define "bindery.hasWebhook" -}}
{{- ne (include "bindery.policies" .) "instead" -}}
{{- end -}}

{{/* Whether the controller makes certificates for the webhook. */}}
{{- define "bindery.isSelfSigned" -}}
{{- and (eq (include "bindery.hasWebhook" .) "true") (eq .Values.certs.mode "selfSigned") -}}
{{- end -}}

{{/*
The user name of the controller, whose requests are not evaluated. Where there is no controller it is the
webhook's account: any user could create an account that does not exist. Where there is no webhook either, it is a name that
no user can have: Kubernetes gives none that starts so.
*/}}
{{- define "bindery.ownController" -}}
{{- if or .Values.controller.enabled (eq (include "bindery.hasWebhook" .) "true") -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ include "bindery.controllerAccount" . }}
{{- else -}}
system:bindery:no-controller
{{- end -}}
{{- end -}}

{{/* Whether the controller has pods of its own. */}}
{{- define "bindery.hasOwnDeployment" -}}
{{- and .Values.controller.enabled (eq .Values.controller.placement "deployment") -}}
{{- end -}}

{{/* The component whose pods the controller's container is in. */}}
{{- define "bindery.controllerComponent" -}}
{{- eq (include "bindery.hasOwnDeployment" .) "true" | ternary "controller" "webhook" -}}
{{- end -}}

{{/* Whether there are Services by which the metrics are scraped. */}}
{{- define "bindery.hasMetricsService" -}}
{{- or .Values.metrics.service.enabled .Values.metrics.serviceMonitor.enabled -}}
{{- end -}}

{{/* The Secret with the serving certificate. */}}
{{- define "bindery.servingSecret" -}}
{{- if eq .Values.certs.mode "provided" -}}
{{- $secret := .Values.certs.provided.secretName -}}
{{- $name := include "bindery.fullname" . -}}
{{- if has $secret (list (print $name "-tls") (print $name "-ca")) -}}
{{- fail (printf "certs.provided.secretName: %q is a Secret of the chart's own with certs.mode selfSigned; helm would delete it, or fail to adopt it, when the mode changes; choose another name" $secret) -}}
{{- end -}}
{{ $secret }}
{{- else if eq .Values.certs.mode "certManager" -}}
{{ include "bindery.fullname" . }}-issued-tls
{{- else -}}
{{ include "bindery.fullname" . }}-tls
{{- end -}}
{{- end -}}

{{/*
What the API server does while nothing answers an entry: (list root entry). The profile audit observes only, so that no
change depends on the webhook yet.
*/}}
{{- define "bindery.failurePolicy" -}}
{{- $root := index . 0 -}}
{{- if eq $root.Values.rules.profile "audit" -}}
Ignore
{{- else -}}
{{ (index $root.Values.webhook (index . 1)).failurePolicy }}
{{- end -}}
{{- end -}}

{{/* Who labels PVs with their tenant. The profile audit changes nothing. */}}
{{- define "bindery.tenancyLabel" -}}
{{ ternary "manual" .Values.tenancy.label (eq .Values.rules.profile "audit") }}
{{- end -}}

{{/*
Whether the controller probes guard, so that webhooks fail closed only while they answer. It needs a webhook that fails closed, a
controller, and rights that are given by hand where the chart makes no roles: there they fail closed as they are registered.
*/}}
{{- define "bindery.isProbed" -}}
{{- $policies := list -}}
{{- range $entry := list "guard" "advise" "tenancy" "mutate" -}}
{{- $policies = append $policies (include "bindery.failurePolicy" (list $ $entry)) -}}
{{- end -}}
{{- and .Values.controller.enabled .Values.rbac.create (eq (include "bindery.hasWebhook" .) "true") (has "Fail" $policies) -}}
{{- end -}}

{{/* The name of the PersistentVolume that the controller sends as a dry run. */}}
{{- define "bindery.guardProbe" -}}
bindery-guard-probe
{{- end -}}

{{/* Whether a request is that dry run, as the program spells it. */}}
{{- define "bindery.isGuardProbe" -}}
request.operation == 'CREATE' && request.?dryRun.orValue(false) && request.?name.orValue('') == '{{ include "bindery.guardProbe" . }}'
{{- end -}}

{{/* Whether the webhook answers: whether the account that stands for it may do what answering.yaml allows. */}}
{{- define "bindery.isAnswered" -}}
{{- $name := printf "%s-answering" (include "bindery.fullname" .) -}}
authorizer.serviceAccount('{{ .Release.Namespace }}', '{{ $name }}').group('bindery.dev').resource('webhooks').namespace('{{ .Release.Namespace }}').check('answer').allowed()
{{- end -}}

{{/* What the controller may do in the namespace of the pods that empty volumes. */}}
{{- define "bindery.recyclingRules" -}}
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, create, delete]
- apiGroups: [""]
  resources: [events]
  verbs: [list]
{{- end -}}
