/** Takes out what differs from run to run and says nothing: ids, secrets, days, times, versions, folders. */
export function settled(text: string, others: Readonly<Record<string, string>> = {}): string {
  let left = text
  for (const [found, name] of Object.entries(others)) if (found !== '') left = left.replaceAll(found, name)
  return left
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, '<time>')
    .replace(/\d{4}-\d\d-\d\d(T\d\d:\d\dZ)?/g, (_, time) => (time === undefined ? '<day>' : '<time>'))
    .replace(/\b1[7-9]\d{8}(?:\d{3})?\b/g, '<since 1970>')
    .replace(/@[0-9a-f]{12}\b/g, '@<hash>')
    .replace(/\b[0-9a-f]{16}\b/g, '<hash>')
    .replace(/\b(cli|key|rcv|dlv|alt|adj)_[0-9A-Za-z]{8,}/g, '<$1 id>')
    .replace(/\btg_[0-9A-Za-z]{3,}/g, '<key>')
    .replace(/\bwhsec_[0-9A-Za-z+/=_-]+/g, '<secret>')
    .replace(/PostgreSQL \d+(?:\.\d+)*/g, 'PostgreSQL <version>')
    .replace(/(?:Redis|Valkey) \d+(?:\.\d+)*/g, 'Redis <version>')
    .replace(/\b(v?)\d+\.\d+\.\d+\b(?!\.)/g, '$1<version>')
    .replace(/(silent(?:_seconds": | for ))\d+/g, '$1<n>')
    .replace(/[ \t]+$/gm, '')
}

/** Takes out numbers too, but those of command lines: connections, milliseconds and days are of the moment. */
export function withoutNumbers(text: string): string {
  return text.replace(/^(?!\$).*$/gm, (line) => line.replace(/\b\d+(?:\.\d+)?\b/g, '<n>'))
}
