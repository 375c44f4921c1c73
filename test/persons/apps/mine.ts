// Routes of a project that ask for the person who sends the request.
import { ask, Elysia } from '../../../src/index.ts'

export default new Elysia()
  .get('/mine', ({ request }) => ask(request, 'GET', ['Absences']))
  .post('/take/:id', ({ params, request }) => ask(request, 'PATCH', ['Absences', params.id], { Status: 'Approved' }))
