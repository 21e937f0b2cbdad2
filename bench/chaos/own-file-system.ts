import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, open, readdir, rm, statfs, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** A small file system of our own, so that a disk can really be full. Its image lies on the ordinary disk: syncs are real. */
export interface OwnFileSystem {
  readonly folder: string
  /** Takes all the room that is left; again: also what was given back since. */
  fill(): Promise<void>
  /** Gives that room back. */
  free(): Promise<void>
  /** Unmounts and deletes it. */
  stop(): Promise<void>
}

/** Sparse: only what is written takes room. Journals of 300 s at some hundred calls a second are a tenth of it. */
const BYTES = 2 * 1024 ** 3
const BALLAST = 'ballast'
const run = promisify(execFile)

/** Unmounts, also under processes that have files open there, when the pipe ends that only we hold. */
const WATCH = `
exec 2>/dev/null
while read -r line; do :; done
umount "$1/mount" || umount -l "$1/mount"
rmdir "$1/mount" || { sleep 1; umount -l "$1/mount"; rmdir "$1/mount"; }
rm -f "$1/image"
rmdir "$1"
`

/** Mounts one, or says why that cannot be. It goes with this process, however that ends. */
export async function mountOwnFileSystem(): Promise<OwnFileSystem | string> {
  const site = await mkdtemp(join(tmpdir(), 'tallygate-chaos-disk-'))
  const [image, folder] = [join(site, 'image'), join(site, 'mount')]
  await mkdir(folder)
  const watch = spawn('/bin/sh', ['-c', WATCH, 'sh', site], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    cwd: '/',
  })
  watch.unref()
  const ended = once(watch, 'exit')
  const stop = async () => {
    watch.ref()
    watch.stdin.end()
    await ended
  }
  try {
    await (await open(image, 'wx')).close()
    await truncate(image, BYTES)
    await run('mkfs.ext4', ['-q', '-m', '0', image])
    await run('mount', ['-o', 'loop', image, folder])
  } catch (error) {
    await stop()
    return `no file system can be mounted here: ${error instanceof Error ? error.message.trim() : error}`
  }
  return {
    folder,
    async fill() {
      const { bavail, bsize } = await statfs(folder)
      // The file system keeps some blocks for its own lists: what is refused in one piece is taken in smaller ones.
      for (let blocks = bavail; blocks >= 1; blocks = Math.floor(blocks / 2)) {
        const ballast = join(folder, `${BALLAST}-${performance.now()}`)
        await run('fallocate', ['-l', `${blocks * bsize}`, ballast]).catch(() => {})
      }
    },
    async free() {
      const names = await readdir(folder)
      await Promise.all(
        names.filter((name) => name.startsWith(BALLAST)).map((name) => rm(join(folder, name))),
      )
    },
    stop,
  }
}
