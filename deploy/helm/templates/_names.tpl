{{- define "tallygate.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "tallygate.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "tallygate.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "tallygate.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* What selects pods stays for good: it cannot be changed in a StatefulSet. */}}
{{- define "tallygate.selector" -}}
app.kubernetes.io/name: {{ include "tallygate.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "tallygate.labels" -}}
{{ include "tallygate.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "tallygate.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "tallygate.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "tallygate.image" -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}

{{/* The image runs as the user node, 1000, and writes to nothing but its volumes. */}}
{{- define "tallygate.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "tallygate.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* Of the one who says it last: shared variables, then those of the kind. */}}
{{- define "tallygate.env" -}}
{{- range $name, $value := . }}
- name: {{ $name }}
  {{- /* Numbers of a file are floats: 1000000 would be 1e+06. */}}
  value: {{ if and (kindIs "float64" $value) (eq (floor $value) $value) }}{{ printf "%.0f" $value | quote }}{{ else }}{{ $value | quote }}{{ end }}
{{- end }}
{{- end -}}

{{- define "tallygate.envFrom" -}}
- secretRef:
    name: {{ .Values.secret.name }}
{{- range .Values.extraSecrets }}
- secretRef:
    name: {{ . }}
{{- end }}
{{- end -}}

{{/* Where pods are placed: apart from their like, unless the values say otherwise. */}}
{{- define "tallygate.placement" -}}
{{- $part := index .root.Values .part -}}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $part.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $part.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
affinity:
{{- if $part.affinity }}
  {{- toYaml $part.affinity | nindent 2 }}
{{- else }}
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels:
              {{- include "tallygate.selector" .root | nindent 14 }}
              app.kubernetes.io/component: {{ .part }}
{{- end }}
{{- end -}}
