import type { Condition } from './condition.ts'

export const UPSTREAMS: Condition = {
  name: 'upstreams',
  place: 'postgres',
  severity: 'wrong',
  event: 'upstream.credential_refused',
  rules: [
    {
      name: 'UpstreamRefusesCredential',
      expr: 'increase(tallygate_upstream_failures_total{cause="credential_refused"}[5m]) > 0',
      severity: 'page',
      summary:
        "An upstream refuses the gateway's key: all of its calls fail. Other causes (`dns`, `tls`, `server_error`, ...) have counts, too.",
    },
  ],
}
