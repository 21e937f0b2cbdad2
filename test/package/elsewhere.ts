import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** NODE_OPTIONS with which each Node.js takes itself for this version. */
export function pretendNode(version: string): string {
  const code = `Object.defineProperty(process,"versions",{value:{...process.versions,node:"${version}"}});Object.defineProperty(process,"version",{value:"v${version}"})`
  return `--import data:text/javascript,${encodeURIComponent(code)}`
}

/** Numbers of the processes whose program, arguments or working folder lie in this folder. */
export function processesIn(folder: string): number[] {
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger)
  return pids.filter((pid) => {
    if (pid === process.pid) return false
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      return line.includes(folder) || readlinkSync(`/proc/${pid}/cwd`).startsWith(folder)
    } catch {
      return false // it has ended
    }
  })
}
