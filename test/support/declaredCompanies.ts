import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from './process.ts'

/** Makes a folder of entities with only companies, whose names are unique. */
export function declaredCompanies() {
  const folder = temporaryFolder()
  const model = join(import.meta.dir, '../../src/model/entity.ts')
  writeFileSync(
    join(folder.path, 'company.ts'),
    `import { boolean, defineEntity, identity, text } from '${model}'
export default defineEntity('Company', { id: identity(), name: text({ unique: true }), enabled: boolean() })`,
  )
  return folder
}
