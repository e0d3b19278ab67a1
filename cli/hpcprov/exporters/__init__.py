"""What other tools read, made of a site: one module for each format."""
