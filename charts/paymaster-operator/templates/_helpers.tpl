{{- define "paymaster.name" -}}
{{- default "paymaster" .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "paymaster.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "paymaster.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "paymaster.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Labels of an object. Call with (dict "root" $ "component" "rpc"). */}}
{{- define "paymaster.labels" -}}
{{ include "paymaster.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/part-of: paymaster-operator
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "paymaster.selector" -}}
app.kubernetes.io/name: {{ include "paymaster.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end -}}

{{- define "paymaster.image" -}}
{{ include "paymaster.imageOf" (merge (dict) .Values.image (dict "tag" .Chart.AppVersion)) }}
{{- end -}}

{{/* A digest wins over a tag, which may be moved to another image. */}}
{{- define "paymaster.imageOf" -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}{{- else -}}{{ .repository }}:{{ include "paymaster.tag" .tag }}{{- end -}}
{{- end -}}

{{/* A tag that looks like a whole number arrives as one, from a values file as a float. */}}
{{- define "paymaster.tag" -}}
{{ kindIs "string" . | ternary . (printf "%d" (int64 .)) }}
{{- end -}}

{{/* Replicas in several zones where there are some; `affinity` of the values wins, kind by kind. */}}
{{- define "paymaster.zoneAffinity" -}}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 100
      podAffinityTerm:
        topologyKey: topology.kubernetes.io/zone
        matchLabelKeys: [pod-template-hash]
        labelSelector:
          matchLabels: {{- include "paymaster.selector" . | nindent 12 }}
{{- end -}}

{{/* Name of a cluster-scoped object: two releases in two namespaces must not share it. */}}
{{- define "paymaster.clusterName" -}}
{{ .root.Release.Namespace }}-{{ include "paymaster.fullname" .root }}-{{ .name }}
{{- end -}}

{{/* Gives the account of a component its role. Call with (dict "root" $ "component" "rpc" "kind" "Role"), or "ClusterRole". */}}
{{- define "paymaster.binding" -}}
{{- $account := printf "%s-%s" (include "paymaster.fullname" .root) .component -}}
{{- $role := eq .kind "Role" | ternary $account (include "paymaster.clusterName" (dict "root" .root "name" .component)) -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}Binding
metadata:
  name: {{ $role }}
  {{- if eq .kind "Role" }}
  namespace: {{ .root.Release.Namespace }}
  {{- end }}
  labels: {{- include "paymaster.labels" . | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ $role }}
subjects:
  - kind: ServiceAccount
    name: {{ $account }}
    namespace: {{ .root.Release.Namespace }}
{{- end -}}

{{/* Not empty where the operator has a role for Secrets. */}}
{{- define "paymaster.writesSecrets" -}}
{{- with .Values.operator.connectionSecrets }}{{ if or .organisations .allNamespaces .namespaces }}true{{ end }}{{ end -}}
{{- end -}}

{{/* Of the bundled PostgreSQL, and of the Cluster of CloudNativePG. */}}
{{- define "paymaster.postgresName" -}}
{{ include "paymaster.fullname" . }}-postgres
{{- end -}}

{{/* Without a password, which is in a Secret. Empty: the Secret holds the address too. */}}
{{- define "paymaster.databaseUrl" -}}
{{- with .Values.postgres }}
{{- if .url -}}
{{ .url }}
{{- else if .bundled.enabled -}}
postgresql://paymaster@{{ include "paymaster.postgresName" $ }}:5432/paymaster?sslmode=disable
{{- else if .cloudnativepg.enabled -}}
postgresql://paymaster@{{ include "paymaster.postgresName" $ }}-rw:5432/paymaster
{{- end }}
{{- end }}
{{- end -}}

{{/* Which files servers read for the database: by what they are, `secret` and `key`. Call with fromYaml. */}}
{{- define "paymaster.databaseFiles" -}}
{{- $name := include "paymaster.postgresName" . }}
{{- with .Values.postgres }}
{{- if .bundled.enabled }}
password: { secret: {{ .bundled.passwordSecret | default $name }}, key: password }
{{- else if .cloudnativepg.enabled }}
# Secrets that CloudNativePG makes. That of the authority holds its key too, which nobody here needs.
password: { secret: {{ $name }}-app, key: password }
ca: { secret: {{ $name }}-ca, key: ca.crt }
{{- else if or .existingSecret .secretName }}
{{- $secret := .existingSecret | default .secretName }}
{{- range $what, $key := omit .secretKeys "url" }}
{{- if $key }}
{{ $what }}: { secret: {{ $secret }}, key: {{ $key }} }
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "paymaster.publicRpcUrl" -}}
{{- if .Values.publicRpcUrl -}}
{{- .Values.publicRpcUrl | trimSuffix "/" -}}
{{- else -}}
http://{{ include "paymaster.fullname" . }}-rpc.{{ .Release.Namespace }}.svc:{{ int64 .Values.rpc.service.port }}
{{- end -}}
{{- end -}}

{{/* Ready for a namespace that enforces the restricted Pod Security standard. */}}
{{- define "paymaster.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "paymaster.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{/* An amount of Kubernetes as a number, e.g. 512Mi or 250m. */}}
{{- define "paymaster.amount" -}}
{{- $text := toString . }}
{{- $unit := regexFind "([numkMGTPE]|[KMGTPE]i)$" $text }}
{{- $units := dict "" 1.0 "n" 0.000000001 "u" 0.000001 "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 "Pi" 1125899906842624.0 "Ei" 1152921504606846976.0 }}
{{- mulf (trimSuffix $unit $text | float64) (get $units $unit) }}
{{- end -}}
