/** What the lockfile says of one package. */
export interface LockedPackage {
  readonly version?: string
  readonly integrity?: string
  /** Of a package for one kind of machine. */
  readonly os?: readonly string[]
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

/** Packages by their folder, as in `package-lock.json`; the root is `''`. */
export type LockedPackages = Readonly<Record<string, LockedPackage>>

/** A whole `package-lock.json`. */
export interface Lockfile {
  readonly name: string
  readonly version: string
  readonly lockfileVersion: 3
  readonly requires: true
  readonly packages: LockedPackages
}

/** The part of a package's manifest that asks for others. */
export interface Asks {
  readonly name: string
  readonly version: string
  readonly license: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

/**
 * The lockfile of a package that asks for some of what the project has: each package in the project's version, with its
 * integrity. Overrides of the project hold in it.
 *
 * @throws Error when it asks for a package that the project's lockfile lacks
 */
export function lockfileOf(root: Asks, locked: LockedPackages): Lockfile {
  const wanted = new Set<string>()
  const visit = (asker: string, asks: LockedPackage) => {
    const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = asks
    const mayLack = { ...optionalDependencies }
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
      const folder = folderOf(asker, name, locked)
      if (folder === null) {
        if (name in mayLack || peerDependenciesMeta?.[name]?.optional === true) continue
        throw new Error(`the lockfile lacks ${name}, for ${asker || 'the package'}`)
      }
      if (peerDependenciesMeta?.[name]?.optional === true || wanted.has(folder)) continue
      wanted.add(folder)
      visit(folder, locked[folder] ?? {})
    }
  }
  visit('', root)
  const entries = [...wanted].sort().map((folder) => [folder, { ...locked[folder], dev: undefined }])
  const { name, version } = root
  const packages = { '': root, ...Object.fromEntries(entries) }
  return { name, version, lockfileVersion: 3, requires: true, packages }
}

/** How Node finds a package: beside the one that asks, else further up. */
function folderOf(asker: string, name: string, locked: LockedPackages): string | null {
  for (let at = asker; ; at = at.slice(0, at.lastIndexOf('node_modules/')).replace(/\/$/, '')) {
    const folder = `${at}${at === '' ? '' : '/'}node_modules/${name}`
    if (folder in locked) return folder
    if (at === '') return null
  }
}
