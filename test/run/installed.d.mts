export declare const isInstalled: (wanted: string, present: string) => boolean;
