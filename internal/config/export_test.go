package config

// Position returns path, line and column of a dotted key, or the path alone when the file has
// no such key. A part that is not a bare key of TOML is quoted: `tasks.tags."a b"`.
func (c *Config) Position(key string) string { return c.file.Position(key) }
