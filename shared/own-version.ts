/** The version of agent, coordinator and plugin, in one place. */
import manifest from '../package.json' with { type: 'json' };

export const VERSION: string = manifest.version;
