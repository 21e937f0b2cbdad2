/** A path, or a part of one, with its percent-encoding undone; as it stands where that is malformed. */
export function decodePath(path: string): string {
  if (!path.includes('%')) return path
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
