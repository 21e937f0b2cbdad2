/** Something that calls are made to. */
export interface Target {
  readonly name: string
  readonly host: string
  readonly port: number
  /** Sent as `authorization: Bearer`. */
  readonly key: string
  /** Of the process whose CPU and memory are compared, with its children; `null`: not known, so not measured. */
  readonly pid: number | null
  /** Gives all wires of the bench their own upstream, so that it can be asked for any of them. */
  readonly takesAllWires: boolean
  /** Its answers are the origin's, byte for byte. */
  readonly keepsBytes: boolean
}

/** `name=URL[,key=…][,pid=…]`. @throws where it reads otherwise */
export function parsePeer(text: string): Target {
  const [, name, url, rest = ''] = /^([\w.-]+)=([^,]+)((?:,(?:key|pid)=[^,]+)*)$/.exec(text) ?? []
  if (name === undefined || url === undefined || !URL.canParse(url))
    throw new Error(`--peer ${text}: it should read name=URL[,key=…][,pid=…]`)
  const { hostname, port, protocol } = new URL(url)
  if (protocol !== 'http:') throw new Error(`--peer ${text}: only http is measured`)
  const pid = /,pid=(\d+)/.exec(rest)?.[1]
  return {
    name,
    host: hostname,
    port: Number(port || 80),
    key: /,key=([^,]+)/.exec(rest)?.[1] ?? 'none',
    pid: pid === undefined ? null : Number(pid),
    takesAllWires: false,
    keepsBytes: false,
  }
}
