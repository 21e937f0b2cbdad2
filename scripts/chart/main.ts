import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { findHelm, render } from './helm.ts'

/** Writes what the chart makes of its own values, for those who use no Helm: `npm run manifests`. */
export const MANIFESTS = 'deploy/kubernetes/tallygate.yaml'
const HEAD =
  '# Written by "npm run manifests" from deploy/helm. The Job has to end before the rest is applied.\n'

/** The text of that file. */
export const plainManifests = (helm: string) => HEAD + render(helm, null)

if (import.meta.main) {
  mkdirSync(dirname(MANIFESTS), { recursive: true })
  writeFileSync(MANIFESTS, plainManifests(await findHelm()))
}
