// Asks each Service what only a working one answers. Exits with 1 and says what is wrong.
import { lookup } from 'node:dns/promises';

const { RPC_URL, DASHBOARD_URL, RPC_CHECKS } = process.env;
const problems = [];
const patienceMs = Number(process.env.PATIENCE_MS ?? 30_000);
const askMs = Math.min(5_000, patienceMs);

/** A time-out has a number for its code, which says nothing. */
function whyNot(error) {
  if (error.name === 'TimeoutError') return 'gave no answer in time: is a NetworkPolicy between them?';
  return String(error.cause?.code ?? error.code ?? error);
}

async function expectAnswer(what, url, init, isRight) {
  const deadline = Date.now() + patienceMs;
  let last = '';
  while (Date.now() < deadline) {
    try {
      const response = await fetch(url, { ...init, signal: AbortSignal.timeout(askMs) });
      last = `HTTP ${response.status} ${await response.text()}`;
      if (isRight(response.status, last)) return console.log(`ok    ${what}`);
    } catch (error) {
      last = whyNot(error);
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  problems.push(what);
  console.log(`FAIL  ${what}: ${last}`);
}

/** Every rpc pod passes every check, those included that do not keep traffic away: otherwise it cannot sign for some or for all. */
async function expectSigning(checks) {
  const deadline = Date.now() + patienceMs;
  let failing = ['rpc can sign: no pod answers'];
  while (Date.now() < deadline && failing.length > 0) {
    const [host, port] = checks.split(':');
    try {
      const pods = await lookup(host, { all: true });
      failing = (await Promise.all(pods.map(({ address, family }) => failingChecks(address, family, port)))).flat();
    } catch (error) {
      failing = [`rpc can sign: ${host} ${whyNot(error)}`];
    }
    if (failing.length > 0) await new Promise((resolve) => setTimeout(resolve, 500));
  }
  if (failing.length === 0) return console.log('ok    rpc can sign');
  problems.push('rpc can sign');
  for (const line of new Set(failing)) console.log(`FAIL  ${line}`);
}

async function failingChecks(address, family, port) {
  const pod = `${family === 6 ? `[${address}]` : address}:${port}`;
  let checks;
  try {
    const response = await fetch(`http://${pod}/readyz`, { signal: AbortSignal.timeout(askMs) });
    ({ checks } = await response.json());
  } catch (error) {
    return [`rpc can sign: ${pod} ${whyNot(error)}`];
  }
  return checks
    .filter(({ ready }) => !ready)
    .map(({ name, reason, action }) => `rpc can sign: check ${name}: ${reason}. ${action}`);
}

const call = (method, params) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
});

// No Service leads to health and metrics: endpoints are there because pods are ready.
await expectAnswer('rpc answers', `${RPC_URL}/openrpc.json`, {}, (status) => status === 200);
await expectAnswer('rpc shows no metrics', `${RPC_URL}/metrics`, {}, (status) => status === 404);
await expectAnswer(
  'rpc refuses a key that nobody has',
  `${RPC_URL}/api/v1/1/abcdefghi.00000000-0000-4000-8000-000000000000`,
  call('pm_sponsorUserOperation', [{}]),
  (status, text) => text.includes('"error"'),
);
if (DASHBOARD_URL) {
  await expectAnswer(
    'dashboard answers',
    `${DASHBOARD_URL}/api/v2/public/sdk/openapi.json`,
    {},
    (status) => status === 200,
  );
  await expectAnswer(
    'dashboard refuses a call without credentials',
    `${DASHBOARD_URL}/api/v2/public/sdk/paymaster`,
    {},
    (status) => status === 401 || status === 403 || status === 400,
  );
}
await expectSigning(RPC_CHECKS);
process.exitCode = problems.length === 0 ? 0 : 1;
