import { readFileSync } from 'node:fs';

/** What `make run` has written about itself. Ends this process with one sentence when it does not run. */
export async function readFacts(file) {
  const facts = read(file);
  const { origin } = new URL(facts.rpcUrl);
  const answers = fetch(`${origin}/healthz`, { signal: AbortSignal.timeout(10_000) });
  await answers.catch(() => end(`nothing answers at ${origin}: start "make run" in another terminal`));
  return facts;
}

/** A contract that a paymaster pays for, and its method. Ends this process when no paymaster has one. */
export function sponsoredCall({ sponsoredContract }) {
  return (
    sponsoredContract ??
    end('no paymaster has a contract with a whitelisted method without arguments: see examples/quickstart')
  );
}

function read(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return end(`${file} cannot be read: start "make run" in another terminal, or name its connection.json`);
  }
}

function end(sentence) {
  console.error(`error: ${sentence}`);
  process.exit(1);
}
