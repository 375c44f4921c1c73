export { default } from '../../../src/entities/absence.ts'
