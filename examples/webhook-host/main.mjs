import { createServer } from 'node:http';
import { verify } from './verify.mjs';

// A host of a WEBHOOK policy: node main.mjs, with SIGNING_KEY as creating the policy answered it.
const { SIGNING_KEY: signingKey, WEBHOOK_PORT: port = '9000' } = process.env;
if (!signingKey) throw new Error('set SIGNING_KEY to the signingKey that creating the policy answered');
const members = new Set(['0x1234567890123456789012345678901234567890']);

createServer(async (request, response) => {
  const { method, url, headers } = request;
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const answer = (status, value) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  if (!verify({ method, url, headers, body, signingKey })) return answer(401, {});
  const { data, userOp } = method === 'GET' ? { data: {}, userOp: {} } : JSON.parse(body);
  console.log(`${userOp.sender ?? 'somebody'} asks with ${JSON.stringify(data)}`);
  if (members.has(String(userOp.sender).toLowerCase())) return answer(200, { arePoliciesVerified: true });
  answer(200, { arePoliciesVerified: false, reason: 'not a member of the club' });
}).listen(Number(port), '127.0.0.1', () => console.log(`webhook host at http://127.0.0.1:${port}`));
