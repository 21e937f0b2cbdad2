import { parseAllDocuments } from 'yaml'
import { z } from 'zod'

/** What a chart's manifests say of their pods, as far as a Docker engine can hold to it. */
const text = z.string()

const CONTAINER = z.object({
  image: text,
  args: z.array(text).default([]),
  securityContext: z.object({
    readOnlyRootFilesystem: z.boolean(),
    allowPrivilegeEscalation: z.boolean(),
    capabilities: z.object({ drop: z.array(text) }),
  }),
  envFrom: z.array(z.object({ secretRef: z.object({ name: text }) })).default([]),
  env: z.array(
    z.object({
      name: text,
      value: text.optional(),
      valueFrom: z
        .object({
          fieldRef: z.object({ fieldPath: z.literal('status.podIP') }).optional(),
          secretKeyRef: z.object({ name: text, key: text }).optional(),
        })
        .optional(),
    }),
  ),
  ports: z.array(z.object({ name: text, containerPort: z.number() })).default([]),
  readinessProbe: z.object({ httpGet: z.object({ path: text, port: text }) }).optional(),
  lifecycle: z.object({ preStop: z.object({ exec: z.object({ command: z.array(text) }) }) }).optional(),
  volumeMounts: z.array(z.object({ name: text, mountPath: text })),
})

const POD = z.object({
  terminationGracePeriodSeconds: z.number().optional(),
  securityContext: z.object({ runAsUser: z.number(), runAsGroup: z.number() }),
  containers: z.tuple([CONTAINER]),
  volumes: z.array(z.object({ name: text, emptyDir: z.object({}) })),
})

const WORKLOAD = z.object({
  kind: z.enum(['StatefulSet', 'Deployment', 'Job']),
  metadata: z.object({ name: text }),
  spec: z.object({ replicas: z.number().optional(), template: z.object({ spec: POD }) }),
})

export type Pod = z.infer<typeof POD>
export type Workload = z.infer<typeof WORKLOAD>

/** Gateways, workers and migrations of rendered manifests. */
export function workloadsIn(manifests: string): Readonly<Record<Workload['kind'], Workload>> {
  const documents = parseAllDocuments(manifests).map((document) => document.toJS())
  const one = (kind: Workload['kind']) =>
    WORKLOAD.parse(documents.find((document) => Object(document).kind === kind))
  return { StatefulSet: one('StatefulSet'), Deployment: one('Deployment'), Job: one('Job') }
}
