extends SceneTree
# Prints the posed positions of vertices of a mesh. The argument of --job is JSON: file, clip, vertices, times.

func _init():
	var arguments = OS.get_cmdline_args()
	var at = 0
	while arguments[at] != "--job":
		at += 1
	var job = JSON.parse(arguments[at + 1]).result
	var scene = load(job["file"]).instance()
	get_root().add_child(scene)
	var mesh = find(scene, "MeshInstance")
	var player = find(scene, "AnimationPlayer")
	var skeleton = mesh.get_node(mesh.skeleton) if mesh.skin else null
	player.play(job["clip"] if job["clip"] else player.get_animation_list()[0])
	var arrays = mesh.mesh.surface_get_arrays(0)
	var out = []
	for time in job["times"]:
		player.seek(time, true)
		var row = []
		for vertex in job["vertices"]:
			row.append(posed(mesh, skeleton, arrays, vertex))
		out.append(row)
	print("positions ", JSON.print(out))
	quit()

func find(node, kind):
	if node.is_class(kind):
		return node
	for child in node.get_children():
		var found = find(child, kind)
		if found:
			return found
	return null

func posed(mesh, skeleton, arrays, vertex):
	var point = arrays[Mesh.ARRAY_VERTEX][vertex]
	var place = mesh.global_transform
	if skeleton:
		place = skeleton.global_transform
		var sum = Vector3()
		for k in range(4):
			var bind = arrays[Mesh.ARRAY_BONES][4 * vertex + k]
			var weight = arrays[Mesh.ARRAY_WEIGHTS][4 * vertex + k]
			var bone = mesh.skin.get_bind_bone(bind)
			if bone < 0:
				bone = skeleton.find_bone(mesh.skin.get_bind_name(bind))
			sum += weight * (skeleton.get_bone_global_pose(bone) * mesh.skin.get_bind_pose(bind)).xform(point)
		point = sum
	point = place.xform(point)
	return [point.x, point.y, point.z]
