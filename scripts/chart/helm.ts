import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { cached } from '../../test/support/cached-install.ts'

export const CHART = 'deploy/helm'

const VERSION = 'v3.19.2'
/** The Kubernetes that a rendering without a cluster is for: a Helm that Go builds would take an old one. */
export const KUBERNETES = '--kube-version=1.34.0'

/** The one on the PATH, else one that Go builds once. @throws {Error} One line, where neither can be had. */
export async function findHelm(): Promise<string> {
  if (spawnSync('helm', ['version']).status === 0) return 'helm'
  const folder = await cached('Helm', VERSION, async (into) => {
    execFileSync('go', ['install', `helm.sh/helm/v3/cmd/helm@${VERSION}`], {
      env: { ...process.env, GOBIN: into, CGO_ENABLED: '0' },
      stdio: 'pipe',
    })
  })
  const file = join(folder, 'helm')
  if (!existsSync(file)) throw new Error(`there is no ${file}`)
  return file
}

/** The manifests of a release, by values that a file holds. */
export function render(helm: string, valuesFile: string | null): string {
  const values = valuesFile === null ? [] : ['--values', valuesFile]
  return execFileSync(
    helm,
    ['template', 'tallygate', CHART, '--namespace', 'tallygate', KUBERNETES, ...values],
    {
      encoding: 'utf8',
      stdio: 'pipe',
      maxBuffer: 16 * 1024 * 1024,
    },
  )
}
