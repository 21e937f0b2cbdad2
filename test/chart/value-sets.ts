/** Values that people give to the chart, by what they are for. Each has to lint, render and be valid. */
export const VALUE_SETS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'its own': {},
  'one upstream by variables': { env: { UPSTREAM_URL: 'https://api.openai.com' } },
  'numbers and switches as variables': {
    env: {
      JOURNAL_MAX_BYTES: 1_073_741_824,
      METRICS_CLIENTS: 20,
      CALLS_KAFKA_TLS: true,
      CALL_ALERT_USD: 0.5,
    },
  },
  'a configuration': {
    config:
      'upstreams:\n  - { name: openai, url: https://api.openai.com, provider: openai, api_key_env: KEY }\n',
    extraSecrets: ['upstream-keys', 'more-keys'],
  },
  'one gateway and one worker': { gateway: { replicas: 1 }, worker: { replicas: 1 } },
  'no workers, while a migration needs them stopped': { worker: { replicas: 0 } },
  'many gateways of several processes': {
    gateway: { replicas: 12, processes: 4, resources: { requests: { cpu: '4' } }, maxUnavailable: '25%' },
  },
  'scaled by CPU': { gateway: { autoscaling: { enabled: true, maxReplicas: 20 } } },
  'scaled by open calls': { gateway: { autoscaling: { enabled: true, cpuPercent: 75, openCalls: 500 } } },
  'fewer pods at most than at least': {
    gateway: { autoscaling: { enabled: true, minReplicas: 8, maxReplicas: 3 } },
  },
  'TLS by the gateways': { gateway: { tlsSecret: 'tallygate-tls' }, service: { port: 443 } },
  'an ingress': {
    ingress: {
      enabled: true,
      className: 'nginx',
      annotations: { 'nginx.ingress.kubernetes.io/proxy-buffering': 'off' },
      hosts: [{ host: 'llm.example.com' }, { host: 'llm.example.org' }],
      tls: [{ hosts: ['llm.example.com'], secretName: 'llm-tls' }],
    },
  },
  'a load balancer': {
    service: { type: 'LoadBalancer', annotations: { 'example.com/internal': 'true' } },
  },
  'a fast disk that goes with its gateway': {
    gateway: {
      journal: {
        size: '50Gi',
        storageClass: 'fast',
        accessModes: ['ReadWriteOncePod'],
        whenScaled: 'Delete',
        whenDeleted: 'Delete',
      },
    },
  },
  'no network policy': { networkPolicy: { enabled: false } },
  'a network policy of named peers': {
    networkPolicy: {
      operators: [{ namespaceSelector: { matchLabels: { name: 'monitoring' } } }],
      clients: [{ ipBlock: { cidr: '10.0.0.0/8' } }, { podSelector: { matchLabels: { llm: 'yes' } } }],
    },
  },
  'Prometheus’s operator': { serviceMonitor: { enabled: true, labels: { release: 'prometheus' } } },
  'an image of a registry of one’s own': {
    image: { repository: 'registry.example.com:5000/tallygate', tag: 'abc', pullPolicy: 'Always' },
    imagePullSecrets: [{ name: 'registry' }],
  },
  'an account with a cloud’s identity': {
    serviceAccount: { name: 'llm', annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/llm' } },
    env: { UPSTREAM_CREDENTIALS: 'aws' },
  },
  'an account that is there': { serviceAccount: { create: false, name: 'llm' } },
  'chosen nodes': {
    gateway: {
      nodeSelector: { disk: 'nvme' },
      tolerations: [{ key: 'llm', operator: 'Exists', effect: 'NoSchedule' }],
      affinity: { nodeAffinity: {} },
      podAnnotations: { team: 'platform' },
    },
    worker: { nodeSelector: { disk: 'any' }, podAnnotations: { team: 'platform' } },
  },
  'migrations by hand': { migrations: { enabled: false } },
  'long answers': { gateway: { shutdownGraceSeconds: 600, drainSeconds: 60 } },
  'other names': {
    fullnameOverride: 'llm-gateway-of-a-team-whose-name-is-longer-than-names-may-be',
    secret: { name: 'llm' },
  },
}

/** Values that are refused, with what the refusal names. */
export const REFUSED_SETS: readonly (readonly [values: Readonly<Record<string, unknown>>, names: string])[] =
  [
    [{ gateway: { replica: 3 } }, 'replica'],
    [{ gateway: { journal: { accessModes: ['ReadWriteMany'] } } }, 'accessModes'],
    [{ secret: { name: '' } }, 'name'],
    [{ service: { type: 'Cluster' } }, 'type'],
    [{ env: { LIST: ['a'] } }, 'LIST'],
  ]
