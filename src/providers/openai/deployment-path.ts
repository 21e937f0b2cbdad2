const DEPLOYMENT = /\/(?:deployments|serving-endpoints)\/([^/]+)\//i

/** The deployment that Azure and Databricks name in the path; `null` without one. */
export function deploymentIn(path: string): string | null {
  return DEPLOYMENT.exec(`${path}/`)?.[1] ?? null
}
