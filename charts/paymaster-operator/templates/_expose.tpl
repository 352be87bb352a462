{{/*
An Ingress and an HTTPRoute of one component. Call with (dict "root" $ "component" "rpc" "values" .Values.rpc
"prefixes" (list "/api/v1") "documents" (list "/openrpc.json")).
*/}}
{{- define "paymaster.expose" -}}
{{- $name := printf "%s-%s" (include "paymaster.fullname" .root) .component -}}
{{- $port := int64 .values.service.port -}}
{{- with .values.ingress }}
{{- if .enabled }}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {{ $name }}
  namespace: {{ $.root.Release.Namespace }}
  labels: {{- include "paymaster.labels" $ | nindent 4 }}
  {{- with .annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with .className }}
  ingressClassName: {{ . }}
  {{- end }}
  {{- with .tlsSecretName }}
  tls:
    - secretName: {{ . }}
      {{- with $.values.ingress.host }}
      hosts: [{{ . | quote }}]
      {{- end }}
  {{- end }}
  rules:
    - http:
        paths:
          {{- range $.prefixes }}
          - path: {{ . }}
            pathType: Prefix
            backend: { service: { name: {{ $name }}, port: { number: {{ $port }} } } }
          {{- end }}
          {{- range $.documents }}
          - path: {{ . }}
            pathType: Exact
            backend: { service: { name: {{ $name }}, port: { number: {{ $port }} } } }
          {{- end }}
      {{- with .host }}
      host: {{ . | quote }}
      {{- end }}
{{- end }}
{{- end }}
{{- with .values.httpRoute }}
{{- if .enabled }}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: {{ $name }}
  namespace: {{ $.root.Release.Namespace }}
  labels: {{- include "paymaster.labels" $ | nindent 4 }}
  {{- with .annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  parentRefs: {{- toYaml (required (printf "%s.httpRoute.parentRefs must name the Gateway, e.g. [{ name: public, namespace: gateways }]" $.component) (.parentRefs | default nil)) | nindent 4 }}
  {{- with .hostnames }}
  hostnames: {{- toYaml . | nindent 4 }}
  {{- end }}
  rules:
    - matches:
        {{- range $.prefixes }}
        - path: { type: PathPrefix, value: {{ . }} }
        {{- end }}
        {{- range $.documents }}
        - path: { type: Exact, value: {{ . }} }
        {{- end }}
      backendRefs: [{ name: {{ $name }}, port: {{ $port }} }]
{{- end }}
{{- end }}
{{- end -}}
