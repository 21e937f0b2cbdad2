import { decodePath } from './decode-path.ts'

const DEPLOYMENT = /\/(?:deployments|serving-endpoints)\/([^/]+)\//

/** The deployment that Azure and Databricks name in the path, percent-encoding undone; `null` without one. */
export function deploymentIn(path: string): string | null {
  const name = DEPLOYMENT.exec(`${path}/`)?.[1]
  return name === undefined ? null : decodePath(name)
}
