import { expect, test } from '@jest/globals';
import { startAll } from '../../adapters/process/stops.js';

test('started parts are stopped once, the last part first', async () => {
  const stopped: string[] = [];
  const running = await startAll(async (onStop) => {
    for (const part of ['store', 'server']) onStop(() => void stopped.push(part));
    return { port: 1 };
  });
  expect(running.port).toBe(1);
  expect(stopped).toEqual([]);
  await Promise.all([running.stop(), running.stop()]);
  expect(stopped).toEqual(['server', 'store']);
});

test('a start that fails stops what it has started, and rejects with its error', async () => {
  const stopped: string[] = [];
  const starting = startAll(async (onStop) => {
    onStop(() => void stopped.push('store'));
    throw new Error('the port is in use');
  });
  await expect(starting).rejects.toThrow('the port is in use');
  expect(stopped).toEqual(['store']);
});

test('a start that fails rejects with its own error, also when a part cannot be stopped', async () => {
  const stopped: string[] = [];
  const starting = startAll(async (onStop) => {
    onStop(() => void stopped.push('store'));
    onStop(() => {
      throw new Error('the server does not close');
    });
    throw new Error('the port is in use');
  });
  await expect(starting).rejects.toThrow('the port is in use');
  expect(stopped).toEqual(['store']);
});

test('a start can be ended before it is complete', async () => {
  const stopped: string[] = [];
  await startAll(async (onStop, stop) => {
    onStop(() => void stopped.push('store'));
    await stop();
    expect(stopped).toEqual(['store']);
    return {};
  });
});
