{{/*
The Deployment of one component: all run the same image, with another entry point or role.
Call with (dict "root" $ "component" "rpc" "entryPoint" "dist/bin/server.js" "values" .Values.rpc "replicas" 3); "isAutoscaled" where an autoscaler has them.
*/}}
{{- define "paymaster.deployment" -}}
{{- $root := .root -}}
{{- $values := .values -}}
{{- $isServer := has .component (list "dashboard" "rpc") -}}
{{- $databaseFiles := include "paymaster.databaseFiles" $root | fromYaml -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "paymaster.fullname" $root }}-{{ .component }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- include "paymaster.labels" . | nindent 4 }}
spec:
  replicas: {{ include "paymaster.replicas" . }}
  revisionHistoryLimit: 5
  strategy:
    type: RollingUpdate
    # A new replica is ready before an old one goes: nobody waits for a roll-out.
    rollingUpdate: { maxSurge: 1, maxUnavailable: 0 }
  selector:
    matchLabels: {{- include "paymaster.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "paymaster.labels" . | nindent 8 }}
        {{- with $values.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      annotations:
        kubectl.kubernetes.io/default-container: {{ .component }}
        {{- with $values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: {{ include "paymaster.fullname" $root }}-{{ .component }}
      enableServiceLinks: false
      {{- with $root.Values.imagePullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext: {{- include "paymaster.podSecurityContext" $root | nindent 8 }}
      terminationGracePeriodSeconds: {{ int64 $values.terminationGracePeriodSeconds }}
      {{- with $values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      {{- with $values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      # Nodes by a constraint, zones by an affinity: the scheduler ignores a node that lacks the label of any one constraint, so that two
      # constraints would spread nothing on a cluster without zones.
      affinity: {{- toYaml (mergeOverwrite (include "paymaster.zoneAffinity" . | fromYaml) $values.affinity) | nindent 8 }}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          # Counted per roll-out, so that old replicas do not push new ones aside.
          matchLabelKeys: [pod-template-hash]
          labelSelector:
            matchLabels: {{- include "paymaster.selector" . | nindent 14 }}
      containers:
        - name: {{ .component }}
          image: {{ include "paymaster.image" $root }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          # A young generation that requests die in, a heap that grows by half between collections (V8 lets it more than double), and Node's own code on large pages where the node has them.
          args: [--max-semi-space-size=16, --heap-growing-percent=50, --use-largepages=silent, {{ .entryPoint }}]
          securityContext: {{- include "paymaster.containerSecurityContext" $root | nindent 12 }}
          ports:
            {{- if $isServer }}
            - { name: http, containerPort: 8080, protocol: TCP }
            {{- end }}
            # Health and metrics, which no Service leads to.
            - { name: ops, containerPort: 8081, protocol: TCP }
          env: {{- include (printf "paymaster.env.%s" (ternary "server" .component $isServer)) . | nindent 12 }}
            {{- with $values.extraEnv }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          resources: {{- toYaml $values.resources | nindent 12 }}
          # A start may wait for a store; from then on a process is restarted only when its event loop is stuck.
          startupProbe:
            httpGet: { path: /healthz, port: ops }
            periodSeconds: 2
            failureThreshold: 60
            timeoutSeconds: 2
          livenessProbe:
            httpGet: { path: /healthz, port: ops }
            periodSeconds: 10
            failureThreshold: 6
            timeoutSeconds: 5
          readinessProbe:
            httpGet: { path: /readyz, port: ops }
            periodSeconds: 3
            failureThreshold: 2
            timeoutSeconds: 3
          {{- if $isServer }}
          lifecycle:
            # Requests keep coming until every node has withdrawn the endpoint.
            preStop: { sleep: { seconds: {{ int64 $values.preStopSeconds }} } }
          {{- end }}
          volumeMounts:
            - { name: tmp, mountPath: /tmp }
            - { name: master-keys, mountPath: /etc/paymaster/keys, readOnly: true }
            {{- if has .component (list "operator" "rpc") }}
            - { name: signers, mountPath: /etc/paymaster/signers, readOnly: true }
            - { name: chain-urls, mountPath: /etc/paymaster/chains, readOnly: true }
            - { name: price-headers, mountPath: /etc/paymaster/price-headers, readOnly: true }
            {{- end }}
            {{- if eq .component "rpc" }}
            - { name: snapshots, mountPath: /var/lib/paymaster }
            {{- end }}
            {{- if eq .component "dashboard" }}
            - { name: notification-urls, mountPath: /etc/paymaster/notifications, readOnly: true }
            {{- end }}
            {{- if and (eq .component "dashboard") $values.platformTokens.secretName }}
            - { name: platform-tokens, mountPath: /etc/paymaster/platform, readOnly: true }
            {{- end }}
            {{- if and $isServer $databaseFiles }}
            - { name: database, mountPath: /etc/paymaster/database, readOnly: true }
            {{- end }}
      volumes:
        - name: tmp
          emptyDir: { sizeLimit: 64Mi }
        - name: master-keys
          {{- if eq .component "rpc" }}
          # Keys of paymasters are checked by their hash: only webhook calls are signed here.
          projected:
            defaultMode: 0440
            sources:
              - secret:
                  name: {{ $root.Values.masterKeys.secretName }}
                  items: [{ key: webhook-master.key, path: webhook-master.key }]
              # While it is rotated.
              - secret:
                  name: {{ $root.Values.masterKeys.secretName }}
                  optional: true
                  items: [{ key: webhook-master-previous.key, path: webhook-master-previous.key }]
          {{- else }}
          secret: { secretName: {{ $root.Values.masterKeys.secretName }}, defaultMode: 0440 }
          {{- end }}
        {{- if has .component (list "operator" "rpc") }}
        - name: signers
          secret: { secretName: {{ $root.Values.signers.secretName }}, defaultMode: 0440, optional: true }
        - name: chain-urls
          secret: { secretName: {{ $root.Values.chainUrls.secretName }}, defaultMode: 0440, optional: true }
        - name: price-headers
          secret: { secretName: {{ $root.Values.priceHeaders.secretName }}, defaultMode: 0440, optional: true }
        {{- end }}
        {{- if eq .component "rpc" }}
        # Survives a restart of the container, so that it serves while the API server is away.
        - name: snapshots
          emptyDir: { sizeLimit: 2Gi }
        {{- end }}
        {{- if eq .component "dashboard" }}
        - name: notification-urls
          secret: { secretName: {{ $root.Values.notificationUrls.secretName }}, defaultMode: 0440, optional: true }
        {{- end }}
        {{- if and (eq .component "dashboard") $values.platformTokens.secretName }}
        - name: platform-tokens
          secret: { secretName: {{ $values.platformTokens.secretName }}, defaultMode: 0440, optional: true, items: [{ key: tokens, path: tokens }] }
        {{- end }}
        {{- if and $isServer $databaseFiles }}
        - name: database
          projected:
            defaultMode: 0440
            sources:
              {{- range $databaseFiles }}
              - secret: { name: {{ .secret }}, items: [{ key: {{ .key }}, path: {{ .key }} }] }
              {{- end }}
        {{- end }}
{{- end -}}

{{/*
Replicas of a Deployment. Once somebody else has scaled it (kubectl scale, an autoscaler), the live figure stays: a figure of ours would be refused as a
conflict, and none would be taken for 1. Where an autoscaler begins, it begins from the live figure.
*/}}
{{- define "paymaster.replicas" -}}
{{- $live := lookup "apps/v1" "Deployment" .root.Release.Namespace (printf "%s-%s" (include "paymaster.fullname" .root) .component) -}}
{{- $replicas := .replicas -}}
{{- range dig "metadata" "managedFields" list $live -}}
{{- if or $.isAutoscaled (and (eq (.subresource | default "") "scale") (dig "fieldsV1" "f:spec" "f:replicas" nil . | kindIs "map")) -}}
{{- $replicas = $live.spec.replicas -}}
{{- end -}}
{{- end -}}
{{- int64 $replicas -}}
{{- end -}}

{{- define "paymaster.env.pod" -}}
- { name: HOST, value: 0.0.0.0 }
{{- if eq .component "operator" }}
- { name: PORT, value: '8081' }
{{- else }}
- { name: PORT, value: '8080' }
- { name: PAYMASTER_OPS_PORT, value: '8081' }
{{- end }}
- { name: LOG_LEVEL, value: {{ .root.Values.logLevel }} }
- name: POD_NAME
  valueFrom: { fieldRef: { apiVersion: v1, fieldPath: metadata.name } }
{{- end -}}

{{- define "paymaster.env.common" -}}
{{ include "paymaster.env.pod" . }}
- name: POD_NAMESPACE
  valueFrom: { fieldRef: { apiVersion: v1, fieldPath: metadata.namespace } }
- { name: PAYMASTER_KEY_DIR, value: /etc/paymaster/keys }
{{- if ne .component "rpc" }}
{{- with .root.Values.organisations }}
- { name: PAYMASTER_QUOTA_PAYMASTERS, value: {{ int64 .quotas.paymasters | quote }} }
- { name: PAYMASTER_QUOTA_CONTRACTS_PER_PAYMASTER, value: {{ int64 .quotas.contractsPerPaymaster | quote }} }
- { name: PAYMASTER_QUOTA_POLICIES_PER_PAYMASTER, value: {{ int64 .quotas.policiesPerPaymaster | quote }} }
- { name: PAYMASTER_DEFAULT_CONTRACT_ACTION, value: {{ .defaultContractAction }} }
{{- end }}
{{- end }}
{{- if ne .component "dashboard" }}
- { name: PAYMASTER_SIGNER_DIR, value: /etc/paymaster/signers }
- { name: PAYMASTER_CHAIN_URL_DIR, value: /etc/paymaster/chains }
- { name: PAYMASTER_PRICE_HEADERS_DIR, value: /etc/paymaster/price-headers }
{{- end }}
- { name: PAYMASTER_WEBHOOK_ALLOW_HTTP, value: {{ .root.Values.webhooks.allowHttp | quote }} }
- { name: PAYMASTER_WEBHOOK_ALLOW_LOOPBACK, value: {{ .root.Values.webhooks.allowLoopback | quote }} }
{{- with .root.Values.webhooks.allowedPrivateHosts }}
{{- $entries := list }}
{{- range . }}
{{- $entries = append $entries (printf "%s=%s" .url (join "," .networks)) }}
{{- end }}
- { name: PAYMASTER_WEBHOOK_PRIVATE_HOSTS, value: {{ join " " $entries | quote }} }
{{- end }}
{{- end -}}

{{- define "paymaster.env.operator" -}}
{{ include "paymaster.env.common" . }}
- { name: PAYMASTER_SIGNER_SECRET, value: {{ .root.Values.signers.secretName }} }
- { name: PAYMASTER_KEY_SECRET, value: {{ .root.Values.masterKeys.secretName }} }
- { name: PAYMASTER_CHAIN_URL_SECRET, value: {{ .root.Values.chainUrls.secretName }} }
- { name: PAYMASTER_LEASE_NAME, value: {{ include "paymaster.fullname" .root }}-operator }
- { name: PAYMASTER_PUBLIC_RPC_URL, value: {{ include "paymaster.publicRpcUrl" .root | quote }} }
- { name: PAYMASTER_TENANT_GRANT, value: {{ include "paymaster.clusterName" (dict "root" .root "name" "tenant") }}/{{ include "paymaster.fullname" .root }}-dashboard }
{{- if .root.Values.operator.connectionSecrets.organisations }}
- { name: PAYMASTER_SECRETS_GRANT, value: {{ include "paymaster.clusterName" (dict "root" .root "name" "connection-secrets") }}/{{ include "paymaster.fullname" .root }}-operator }
{{- end }}
{{- end -}}

{{/* Where the database is, and what proves who asks. */}}
{{- define "paymaster.env.database" -}}
{{- with .root.Values.postgres }}
{{- if .existingSecret }}
- name: PAYMASTER_DATABASE_URL
  valueFrom: { secretKeyRef: { name: {{ .existingSecret }}, key: {{ .secretKeys.url }} } }
{{- else }}
- { name: PAYMASTER_DATABASE_URL, value: {{ include "paymaster.databaseUrl" $.root | quote }} }
{{- end }}
{{- end }}
{{- range $what, $file := include "paymaster.databaseFiles" .root | fromYaml }}
- { name: PAYMASTER_DATABASE_{{ upper $what }}_FILE, value: /etc/paymaster/database/{{ $file.key }} }
{{- end }}
{{- end -}}

{{- define "paymaster.env.server" -}}
{{ include "paymaster.env.common" . }}
- { name: PAYMASTER_ROLES, value: {{ .component }} }
{{ include "paymaster.env.database" . | trim }}
- { name: PAYMASTER_LEDGER, value: {{ .root.Values.ledger.enabled | ternary "on" "off" | quote }} }
{{- if eq .component "rpc" }}
{{- with .root.Values.ledger }}
- { name: PAYMASTER_LEDGER_REFUSALS_PER_SECOND, value: {{ int64 .refusalsPerSecond | quote }} }
- { name: PAYMASTER_LEDGER_MAX_BYTES, value: {{ int64 .maxBytes | quote }} }
- { name: PAYMASTER_LEDGER_RETENTION_DAYS, value: {{ int64 .retentionDays.decisions | quote }} }
- { name: PAYMASTER_LEDGER_FUNDS_RETENTION_DAYS, value: {{ int64 .retentionDays.funds | quote }} }
{{- end }}
{{- end }}
- { name: PAYMASTER_TRUSTED_PROXIES, value: {{ int64 .values.trustedProxies | quote }} }
{{- if eq .component "dashboard" }}
- { name: PAYMASTER_DASHBOARD_CALLS_PER_SECOND, value: {{ int64 .values.callsPerSecond | quote }} }
- { name: PAYMASTER_DASHBOARD_CALLS_PER_SECOND_OF_ADDRESS, value: {{ int64 .values.callsPerSecondOfAddress | quote }} }
- { name: PAYMASTER_NOTIFICATION_URL_DIR, value: /etc/paymaster/notifications }
- { name: PAYMASTER_CONSOLE, value: {{ .values.console.enabled | ternary "on" "off" | quote }} }
- { name: PAYMASTER_JSON_RPC_URL, value: {{ printf "http://%s-rpc.%s.svc:%d" (include "paymaster.fullname" .root) .root.Release.Namespace (int64 .root.Values.rpc.service.port) | quote }} }
{{- if .values.platformTokens.secretName }}
- { name: PAYMASTER_PLATFORM_TOKENS_FILE, value: /etc/paymaster/platform/tokens }
{{- end }}
{{- end }}
{{- if eq .component "rpc" }}
- { name: PAYMASTER_SNAPSHOT_DIR, value: /var/lib/paymaster }
- { name: PAYMASTER_MAX_STALENESS_SECONDS, value: {{ int64 .values.maxStalenessSeconds | quote }} }
{{- end }}
{{- end -}}

{{- define "paymaster.service" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "paymaster.fullname" .root }}-{{ .component }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "paymaster.labels" . | nindent 4 }}
  {{- with .values.service.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  type: {{ .values.service.type }}
  selector: {{- include "paymaster.selector" . | nindent 4 }}
  ports:
    - { name: http, port: {{ int64 .values.service.port }}, targetPort: http, protocol: TCP }
{{- end -}}

{{- define "paymaster.serviceAccount" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "paymaster.fullname" .root }}-{{ .component }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "paymaster.labels" . | nindent 4 }}
  {{- with .values.serviceAccount.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{/* Only where there is more than one replica: a budget of a single one would block every drain. */}}
{{- define "paymaster.podDisruptionBudget" -}}
{{- if and .root.Values.podDisruptionBudget.enabled (gt (int .replicas) 1) }}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "paymaster.fullname" .root }}-{{ .component }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "paymaster.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  # A replica that is not ready protects nobody and must not hold up a drain.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels: {{- include "paymaster.selector" . | nindent 6 }}
{{- end }}
{{- end -}}
