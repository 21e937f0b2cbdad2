/**
 * Whether a request target, appended to an upstream's address, stays under it: an absolute path without `..`, however it is
 * written, and without a second slash in front, which some would read as a host.
 */
export function staysUnderBase(target: string): boolean {
  if (!target.startsWith('/') || target.startsWith('//')) return false
  const question = target.indexOf('?')
  const path = question === -1 ? target : target.slice(0, question)
  try {
    return !decodeURIComponent(path).split(/[/\\]/).includes('..')
  } catch {
    return false // a percent sign that encodes nothing
  }
}
