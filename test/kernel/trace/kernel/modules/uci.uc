/* Stands for libuci's module: the configuration of one scene, from the file that SCENE names. */
const fs = require("fs");
const scene = json(fs.readfile(getenv("SCENE")));
const sectionsOf = (config) => config == "firewall" ? scene.sections : [];

return {
	cursor: () => ({
		load: (config) => true,
		get_all: (config, name) => filter(sectionsOf(config), s => s[".name"] == name)[0],
		get: (config, name, option) => filter(sectionsOf(config), s => s[".name"] == name)[0]?.[option],
		foreach: (config, kind, callback) => {
			for (let section in sectionsOf(config))
				if (section[".type"] == kind && callback({ ...section }) === false)
					break;
		}
	})
};
