import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { awaited, condition, tenant } from '../cluster.js';
import { connectionUrl, install, sponsorAndMine, startQuickstart, type World } from '../scenario.js';
import { loseDatabase } from './database.js';
import { rotateMasterKeys } from './master-keys.js';
import type { Scene } from './scene.js';
import { deleteSigners, deleteWrittenObjects } from './secrets.js';
import { changeSigner, expirySeconds, rotateSigner } from './signers.js';

/** What happens to an installation that lives for long, each under load. Throws at the first step that fails. */
export async function runDisturbances(world: World): Promise<void> {
  const { tools, report } = world;
  const files = mkdtempSync(join(tmpdir(), 'paymaster-e2e-'));
  try {
    const nodes = await install(world, files);
    const wallet = await startQuickstart(world, nodes);
    await report.step('a paymaster on a contract with several signers', async () => {
      const patch = JSON.stringify({ spec: { maxExpirySeconds: expirySeconds } });
      await tools.kubectl(['patch', 'chain', 'dev', '--type=merge', `--patch=${patch}`]);
      await tools.kubectl(['apply', '-f', '-'], JSON.stringify(several));
      await awaited('it is Ready', 60_000, async () =>
        (await condition(tools, 'paymaster/several', 'Ready')) === 'True' ? true : undefined,
      );
      return undefined;
    });
    const url = await connectionUrl(tools);
    await sponsorAndMine(world, wallet, url, 'an operation is sponsored through the Service and mined');
    const caller = wallet.startCaller();
    const scene: Scene = { wallet, caller, url };
    try {
      await deleteWrittenObjects(world, scene);
      await changeSigner(world, scene);
      const keys = await rotateSigner(world, scene, await connectionUrl(tools, 'several-connection'));
      await loseDatabase(world, scene);
      await deleteSigners(world, scene, keys);
      await rotateMasterKeys(world, scene);
    } finally {
      await caller.stop();
    }
    await sponsorAndMine(
      world,
      wallet,
      await connectionUrl(tools),
      'after all of that an operation is sponsored and mined',
    );
  } finally {
    rmSync(files, { recursive: true, force: true });
  }
}

const several = {
  apiVersion: 'paymasters.dev/v1alpha1',
  kind: 'Paymaster',
  metadata: { name: 'several', namespace: tenant },
  spec: {
    name: 'several',
    chainId: 31337,
    type: 'HYBRID',
    version: 'singleton-0.7',
    defaultContractAction: 'Allow',
    writeConnectionSecretToRef: { name: 'several-connection' },
  },
};
