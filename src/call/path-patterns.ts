export { compilePathPatterns, PathPatternError } from '../domain/path-patterns.ts'
