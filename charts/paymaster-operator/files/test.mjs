// Asks each Service what only a working one answers. Exits with 1 and says what is wrong.
const { RPC_URL, DASHBOARD_URL } = process.env;
const problems = [];

async function expectAnswer(what, url, init, isRight) {
  const deadline = Date.now() + 30_000;
  let last = '';
  while (Date.now() < deadline) {
    try {
      const response = await fetch(url, { ...init, signal: AbortSignal.timeout(5_000) });
      last = `HTTP ${response.status} ${await response.text()}`;
      if (isRight(response.status, last)) return console.log(`ok    ${what}`);
    } catch (error) {
      last = String(error.cause?.code ?? error);
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  problems.push(what);
  console.log(`FAIL  ${what}: ${last}`);
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
process.exitCode = problems.length === 0 ? 0 : 1;
