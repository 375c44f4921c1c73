import { expect, test } from 'bun:test'

interface Lockfile {
  readonly packages: Readonly<Record<string, { readonly version?: string }>>
}

/** Tests that what is installed from a lockfile is the same everywhere, from any mirror of the registry. */
export function testLockfile(dependencies: Readonly<Record<string, string>>, { packages }: Lockfile, packagesMin: number) {
  test('each dependency has an exact version, which is the lockfile’s', () => {
    const locked = Object.keys(dependencies).map((name) => [name, packages[`node_modules/${name}`]?.version ?? ''])
    expect(Object.fromEntries(locked)).toEqual(dependencies)
    expect(Object.values(dependencies).filter((version) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([])
  })

  test('the lockfile names no registry', () => {
    expect(Object.entries(packages).filter(([, entry]) => 'resolved' in entry)).toEqual([])
    expect(Object.keys(packages).length).toBeGreaterThan(packagesMin)
  })
}
