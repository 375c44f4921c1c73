const made = (client, file) => ({ input: 'openapi.json', output: { target: `orval/${file}`, client, mode: 'single' } })
export default { api: made('fetch', 'api.ts'), zod: made('zod', 'zod.ts') }
