const DEPLOYMENT = /\/(?:deployments|serving-endpoints)\/([^/]+)\//

/** The deployment that Azure and Databricks name in the path, percent-encoding undone; `null` without one. */
export function deploymentIn(path: string): string | null {
  const name = DEPLOYMENT.exec(`${path}/`)?.[1]
  if (name === undefined) return null
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}
